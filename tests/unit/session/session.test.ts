/** A session over a pane of another process: it refers to panes, and needs no program, terminal or emulator. */
import { describe, expect, test } from "bun:test";
import { Emitter } from "../../../src/base/emitter.ts";
import { defaultElementLimits } from "../../../src/protocol/drawing-limits.ts";
import type { PtyExit, PtyFlags } from "../../../src/pty/port.ts";
import { Session } from "../../../src/session/session.ts";
import type { PaneRef } from "../../../src/session/types.ts";

/** A pane elsewhere: calls on it are recorded. */
class FarPane implements PaneRef {
  readonly id = "@7";
  readonly pid = 4711;
  readonly command = "sh";
  readonly done: string[] = [];
  readonly events = new Emitter<{ alternate: boolean; exited: PtyExit; abandoned: undefined }>();
  readonly activity = { record: () => void this.done.push("active"), idleMs: () => 0 };
  readonly silence = { dispose: () => void this.done.push("waits end") };
  exit: PtyExit | null = null;
  terminalFlags: PtyFlags | null = null;
  readonly lifetime = {
    isHangingUp: false,
    readableUntil: null as number | null,
    restart: async () => {
      this.exit = null;
      this.done.push("restart");
    },
    end: async () => {
      if (this.exit === null) this.end({ code: null, signal: "SIGHUP" });
    },
    noteEndReported: () => {},
  };

  end(exit: PtyExit): void {
    this.exit = exit;
    this.events.emit("exited", exit);
  }

  info() {
    const { id, pid, command } = this;
    return { id, pid, command, rows: 24, cols: 80, cwd: "/", title: "", state: this.state() };
  }

  state() {
    return this.exit === null ? ("prompt" as const) : ("exited" as const);
  }

  stateLasting() {
    return { state: this.state(), lasting: null };
  }

  async resize(rows: number, cols: number): Promise<void> {
    this.done.push(`${cols}x${rows}`);
  }

  flags() {
    return this.terminalFlags;
  }

  typed(bytes: Uint8Array): void {
    this.done.push(`typed ${new TextDecoder().decode(bytes)}`);
  }

  readonly secrets = { prompt: () => null, type: async () => false };

  release(): void {
    this.done.push("released");
  }
}

function shown() {
  const pane = new FarPane();
  const registry: string[] = [];
  const noted = (what: string) => async () => void registry.push(what);
  const session = new Session(
    {
      ...{ id: 3, windowId: 5, name: "dev", tags: [], server: "here", rows: 24, cols: 80 },
      settings: { graceMs: 60_000, execGraceMs: 60_000, sizePolicy: "latest", elements: defaultElementLimits },
    },
    pane,
    {
      rename: async (name) => {
        registry.push("rename");
        return name;
      },
      ended: noted("ended"),
      live: noted("live"),
      leave: noted("leave"),
    },
  );
  const events: string[] = [];
  for (const name of ["exited", "ending", "destroyed"] as const) session.events.on(name, () => events.push(name));
  return { pane, session, registry, events };
}

describe("a session over a pane of another process", () => {
  test("gives the pane the size that panels leave", async () => {
    const { pane, session } = shown();
    await session.resize({ rows: 30, cols: 100 });
    session.elements.createPanel({ position: "bottom", height: 2, spans: [] });
    await session.layOutPanes();
    expect(pane.done).toContain("100x30");
    expect(pane.done.at(-1)).toBe("100x28");
    expect(session.info()).toMatchObject({ rows: 30, cols: 100, windows: [{ panes: [{ id: "@7", pid: 4711 }] }] });
  });

  test("types into it unless the keyboard is captured; subscribers receive nothing of a password", () => {
    const { pane, session } = shown();
    const heard: string[] = [];
    session.events.on("typed", ({ raw }) => heard.push(String.fromCharCode(...raw)));
    session.typed(1, Buffer.from("a"));
    pane.terminalFlags = { canonical: true, echo: false };
    session.typed(1, Buffer.from("b"));
    session.keyboard.capture({ id: "agent", label: "agent", connected: true }, 1_000);
    session.typed(1, Buffer.from("c"));
    expect(pane.done).toEqual(["active", "typed a", "active", "typed b", "active"]);
    expect(heard).toEqual(["a", "c"]);
    session.keyboard.dispose();
  });

  test("ends once when it is killed, and releases the pane", async () => {
    const { pane, session, registry, events } = shown();
    await Promise.all([session.lifetime.kill("killed"), session.lifetime.kill("server_stopped")]);
    expect(events).toEqual(["ending", "exited", "destroyed"]);
    expect(registry).toEqual(["leave"]);
    expect(pane.done.filter((step) => step === "released")).toHaveLength(1);
  });

  test("stays readable when the program has ended, can be restarted, and is evicted by newer ones", async () => {
    const { pane, session, registry, events } = shown();
    pane.end({ code: 3, signal: null });
    expect(session.info()).toMatchObject({ running: false, state: "exited" });
    await session.lifetime.restart();
    expect(registry).toEqual(["ended", "live"]);
    expect(session.lifetime.evict()).toBe(false);
    pane.end({ code: 0, signal: null });
    expect(session.lifetime.evict()).toBe(true);
    expect(events).toEqual(["exited", "exited", "destroyed"]);
    expect(pane.done.at(-1)).toBe("released");
  });

  test("whose program has ended and cannot be replaced ends like any other, and gives its name up again", async () => {
    const { pane, session, registry, events } = shown();
    pane.end({ code: 3, signal: null });
    const failed = session.lifetime.restart(() => Promise.reject(new Error("no such directory")));
    await expect(failed).rejects.toThrow("no such directory");
    expect(registry).toEqual(["ended", "live", "ended"]);
    expect(pane.lifetime.readableUntil).toBeNumber();
    expect(session.lifetime.evict()).toBe(true);
    expect(events).toEqual(["exited", "destroyed"]);
  });
});
