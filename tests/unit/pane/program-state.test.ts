/** A quiet program has a reason, and wsh reports which. Real programs on real pseudo terminals. */
import { afterAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  classify,
  isInteractiveShell,
  type ProgramKnowledge,
  type ProgramState,
} from "../../../src/pane/state/classify.ts";
import { lastingOf } from "../../../src/pane/state/state-lifetime.ts";
import { type ForegroundFacts, readForeground, readShellInput } from "../../../src/platform/foreground.ts";
import { isMissing } from "../../support/programs.ts";

/** ICANON and ECHO of termios c_lflag on Linux. */
const ICANON = 2;
const ECHO = 8;
/** Time that a program may take to become idle on a busy machine, in ms. */
const DEADLINE_MS = 15_000;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "wsh-program-state-"));
afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

/** A shell on a pseudo terminal that the test types into. */
class Terminal implements Disposable {
  readonly child: Bun.Subprocess;
  private readonly terminal: Bun.Terminal;
  private alternate = false;
  private lastOutput = performance.now();
  output = "";

  constructor(command = ["bash", "--norc", "--noprofile", "-i"]) {
    const home = fs.mkdtempSync(path.join(scratch, "home-"));
    this.child = Bun.spawn(command, {
      cwd: scratch,
      env: { PATH: process.env.PATH ?? "", HOME: home, TERM: "xterm-256color", PS1: "> ", HISTFILE: "", LESS: "" },
      terminal: {
        rows: 24,
        cols: 80,
        data: (_terminal, data) => {
          const text = Buffer.from(data).toString("latin1");
          this.output += text;
          this.lastOutput = performance.now();
          for (const [, set] of text.matchAll(/\x1b\[\?1049([hl])/g)) this.alternate = set === "h";
        },
      },
    });
    const { terminal } = this.child;
    if (terminal === undefined) throw new Error("no terminal");
    this.terminal = terminal;
  }

  type(text: string): void {
    this.terminal.write(text);
  }

  knowledge(facts: ForegroundFacts | null): ProgramKnowledge {
    const bits = this.terminal.localFlags;
    return {
      facts,
      flags: { canonical: (bits & ICANON) !== 0, echo: (bits & ECHO) !== 0 },
      alternate: this.alternate,
      phase: "none",
      inner: "none",
      quietMs: performance.now() - this.lastOutput,
      exited: false,
    };
  }

  state(): ProgramState {
    return classify(this.knowledge(readForeground(this.child.pid)));
  }

  /** Waits until the state is as described; fails with the last one seen. */
  async reaches(wanted: (state: ProgramState) => boolean): Promise<ProgramState> {
    const deadline = performance.now() + DEADLINE_MS;
    for (;;) {
      const state = this.state();
      if (wanted(state)) return state;
      if (performance.now() > deadline) {
        throw new Error(`never reached; last ${JSON.stringify(state)}\n${this.output.slice(-400)}`);
      }
      await Bun.sleep(10);
    }
  }

  [Symbol.dispose](): void {
    const group = readForeground(this.child.pid)?.group;
    if (group !== undefined && group > 1) {
      try {
        process.kill(-group, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }
    this.child.kill("SIGKILL");
    this.terminal.close();
  }
}

interface Case {
  /** Typed at the prompt of a shell without integration. */
  readonly type: string;
  /** Name of the foreground process that must be seen first. */
  readonly foreground: string;
  readonly state: ProgramState["state"];
  readonly doing: ProgramState["doing"];
  readonly relay?: string;
  /** Required by the case; the case is left out when it is missing. */
  readonly needs?: string;
}

const script = path.join(scratch, "child.sh");
fs.writeFileSync(script, 'case $1 in sleep) sleep 60; echo done ;; read) bash -c "read line" ;; esac\n');
const text = path.join(scratch, "text");
fs.writeFileSync(text, "line\n".repeat(200));

const cases: Readonly<Record<string, Case>> = {
  "sleep is working": { type: "sleep 60", foreground: "sleep", state: "running", doing: "working" },
  "a sleep before a pipe is working": {
    type: "sleep 60 | cat",
    foreground: "sleep",
    state: "running",
    doing: "working",
  },
  "a busy loop is working": {
    type: "bash -c 'while :; do :; done'",
    foreground: "bash",
    state: "running",
    doing: "working",
  },
  "a script whose child sleeps is working": {
    type: `bash ${script} sleep`,
    foreground: "bash",
    state: "running",
    doing: "working",
  },
  "cat waits for a line": { type: "cat", foreground: "cat", state: "waiting_for_input", doing: "ready" },
  "the first of a pipeline waits for a line": {
    type: "cat | grep x",
    foreground: "cat",
    state: "waiting_for_input",
    doing: "ready",
  },
  "a script whose child reads waits for a line": {
    type: `bash ${script} read`,
    foreground: "bash",
    state: "waiting_for_input",
    doing: "ready",
  },
  "the shell's own read waits for a line": {
    type: "read line",
    foreground: "bash",
    state: "waiting_for_input",
    doing: "ready",
  },
  "zsh reads another descriptor and waits for a line": {
    type: "zsh -fc 'read line'",
    foreground: "zsh",
    state: "waiting_for_input",
    doing: "ready",
    needs: "zsh",
  },
  "input() of python waits for a line": {
    type: "python3 -c 'input()'",
    foreground: "python3",
    state: "waiting_for_input",
    doing: "ready",
    needs: "python3",
  },
  "a silent read is a password prompt": {
    type: "read -s secret",
    foreground: "bash",
    state: "password",
    doing: "ready",
  },
  "ssh-keygen asks for a passphrase": {
    type: `ssh-keygen -q -t ed25519 -f ${path.join(scratch, "key")}`,
    foreground: "ssh-keygen",
    state: "password",
    doing: "ready",
    needs: "ssh-keygen",
  },
  "no echo while it sleeps is not a password prompt": {
    type: "(stty -echo; sleep 60)",
    foreground: "sleep",
    state: "running",
    doing: "working",
  },
  "the python REPL waits for input": {
    type: "python3 -q",
    foreground: "python3",
    state: "waiting_for_input",
    doing: "ready",
    needs: "python3",
  },
  "the node REPL waits for input": {
    type: "node -i",
    foreground: "node",
    state: "waiting_for_input",
    doing: "ready",
    needs: "node",
  },
  "a server waits for something else": {
    type: "python3 -m http.server --bind 127.0.0.1 0",
    foreground: "python3",
    state: "running",
    doing: "waiting",
    needs: "python3",
  },
  "vim is a full-screen program at rest": {
    type: "vim -u NONE",
    foreground: "vim",
    state: "fullscreen",
    doing: "ready",
    needs: "vim",
  },
  "less is a full-screen program at rest": {
    type: `less ${text}`,
    foreground: "less",
    state: "fullscreen",
    doing: "ready",
    needs: "less",
  },
  "htop is a full-screen program at rest": {
    type: "htop",
    foreground: "htop",
    state: "fullscreen",
    doing: "ready",
    needs: "htop",
  },
  "top waits for a key": { type: "top", foreground: "top", state: "waiting_for_input", doing: "ready", needs: "top" },
  "a nested shell shows its prompt and is named": {
    type: "bash --norc --noprofile",
    foreground: "bash",
    state: "prompt",
    doing: "ready",
    relay: "bash",
  },
  "script carries another terminal": {
    type: "script -qc 'sleep 60' /dev/null",
    foreground: "script",
    state: "running",
    doing: "unknown",
    relay: "script",
    needs: "script",
  },
};

describe.if(process.platform === "linux")("the state of a program", () => {
  for (const [name, it] of Object.entries(cases)) {
    const missing = it.needs !== undefined && isMissing(it.needs);
    test.skipIf(missing)(
      name,
      async () => {
        using terminal = new Terminal();
        await terminal.reaches((state) => state.state === "prompt" && state.settled);
        const before = terminal.child.pid;
        terminal.type(`${it.type}\r`);
        const builtin = it.type.startsWith("read");
        const state = await terminal.reaches((now) => {
          const started = builtin ? now.state !== "prompt" : now.foreground?.pid !== before;
          const named = now.foreground?.name.startsWith(it.foreground) === true;
          // A child before its exec looks like a shell inside the shell.
          const settled = now.relay === (it.relay ?? null);
          return started && named && settled && now.state === it.state && now.doing === it.doing;
        });
        expect(state.relay).toBe(it.relay ?? null);
        expect(state.settled).toBe(it.doing === "ready");
        expect(state.decidedFrom).toBe(it.relay === "script" ? "flags" : "kernel");
      },
      DEADLINE_MS * 2,
    );
  }

  test("a shell without a line editor shows its prompt", async () => {
    using terminal = new Terminal(["dash", "-i"]);
    const state = await terminal.reaches((now) => now.state === "prompt");
    expect(state.relay).toBeNull();
  });

  test("a shell that reads its terminal is seen without a scan as with one; a program in its foreground is not", async () => {
    using terminal = new Terminal();
    await terminal.reaches((state) => state.state === "prompt" && state.settled);
    expect(readShellInput(terminal.child.pid)).toEqual(readForeground(terminal.child.pid));
    expect(readShellInput(terminal.child.pid)?.members).toHaveLength(1);
    terminal.type("sleep 60\r");
    await terminal.reaches((state) => state.foreground?.name === "sleep");
    expect(readShellInput(terminal.child.pid)).toBeNull();
  });

  test("unread input does not count as awaited", async () => {
    using terminal = new Terminal();
    await terminal.reaches((state) => state.state === "prompt");
    terminal.type("sleep 60\r");
    await terminal.reaches((state) => state.foreground?.name === "sleep");
    terminal.type("abc\r");
    const deadline = performance.now() + DEADLINE_MS;
    let unread = 0;
    while (unread === 0 && performance.now() < deadline) {
      unread = readForeground(terminal.child.pid)?.unread ?? 0;
      await Bun.sleep(5);
    }
    expect(unread).toBe(4);
  });
});

describe("the state with fewer facts of the system", () => {
  const quiet: ProgramKnowledge = {
    facts: null,
    flags: { canonical: true, echo: true },
    alternate: false,
    phase: "running",
    inner: "none",
    quietMs: 5_000,
    exited: false,
  };

  test("flags and silence decide, and the answer says so", () => {
    expect(classify(quiet)).toMatchObject({ state: "running", decidedFrom: "flags", doing: "unknown", settled: false });
    const raw = { ...quiet, flags: { canonical: false, echo: false } };
    expect(classify(raw)).toMatchObject({ state: "waiting_for_input", decidedFrom: "flags", settled: true });
    expect(classify({ ...raw, quietMs: 10 })).toMatchObject({ state: "running", settled: false });
    const password = { ...quiet, flags: { canonical: true, echo: false } };
    expect(classify(password)).toMatchObject({ state: "password", decidedFrom: "flags", settled: true });
    expect(classify({ ...quiet, flags: null })).toMatchObject({ state: "running", doing: "unknown" });
  });

  test("the length of a prompt needs no facts: its marks report the end", () => {
    const hidden = { pid: 10, ppid: 1, group: 10, name: "zsh", args: ["-zsh"], activity: "hidden" } as const;
    const facts = { group: 10, shellGroup: 10, members: [hidden], ancestors: [], unread: 0 };
    for (const known of [quiet, { ...quiet, facts }]) {
      expect(lastingOf({ ...known, phase: "prompt" }, "prompt")).toBe("reported");
      expect(lastingOf(known, "running")).toBeNull();
    }
    const working = { ...facts, members: [{ ...hidden, activity: "working" as const }] };
    expect(lastingOf({ ...quiet, facts: working, phase: "prompt" }, "prompt")).toBeNull();
  });

  test("marks, the alternate screen and the end need no facts", () => {
    expect(classify({ ...quiet, phase: "prompt" })).toMatchObject({ state: "prompt", decidedFrom: "marks" });
    expect(classify({ ...quiet, alternate: true })).toMatchObject({ state: "fullscreen" });
    expect(classify({ ...quiet, exited: true })).toMatchObject({ state: "exited", settled: true });
  });

  const member = { pid: 20, ppid: 10, group: 20, name: "sudo", args: ["sudo", "true"], activity: "hidden" } as const;
  const facts = { group: 20, shellGroup: 10, members: [member], ancestors: [], unread: 0 };

  test("a program of another user asks for a password", () => {
    const known = { ...quiet, facts, flags: { canonical: true, echo: false } };
    expect(classify(known)).toMatchObject({ state: "password", decidedFrom: "flags", settled: true });
    expect(classify({ ...quiet, facts })).toMatchObject({ state: "running", doing: "unknown", relay: "sudo" });
  });

  test("sudo that has forked, and not yet started its command, does not wait for input", () => {
    const reads = { ...member, activity: "reading_tty" } as const;
    const raw = { canonical: false, echo: false };
    const known = (second: string) => {
      const members = [reads, { ...member, pid: 21, ppid: 20, name: second, args: [second, "true"] }];
      return classify({ ...quiet, facts: { ...facts, members }, flags: raw });
    };
    expect(known("sudo")).toMatchObject({ state: "running", relay: "sudo", settled: false });
    expect(known("cat")).toMatchObject({ state: "waiting_for_input", relay: null });
  });

  test("ssh is judged by the marks of the shell behind it", () => {
    const ssh = { ...member, name: "ssh", args: ["ssh", "host"], activity: "reading_tty" } as const;
    const known = { ...quiet, facts: { ...facts, members: [ssh] }, flags: { canonical: false, echo: false } };
    expect(classify(known)).toMatchObject({ state: "running", relay: "ssh", doing: "unknown", settled: false });
    expect(classify({ ...known, inner: "prompt" })).toMatchObject({ state: "waiting_for_input", decidedFrom: "marks" });
    const asks = { ...known, flags: { canonical: true, echo: false } };
    expect(classify(asks)).toMatchObject({ state: "password", relay: "ssh" });
  });

  test("an integrated shell behind ssh is at its prompt from the end of its command, though its prompt is printed later", () => {
    const ssh = { ...member, name: "ssh", args: ["ssh", "host"], activity: "waiting" } as const;
    const behind = { ...quiet, facts: { ...facts, members: [ssh] }, isElsewhere: true };
    for (const phase of ["ended", "drawing"] as const)
      expect(classify({ ...behind, phase })).toMatchObject({ state: "prompt", doing: "working", settled: false });
    expect(classify({ ...behind, phase: "prompt" })).toMatchObject({ state: "prompt", settled: true });
    expect(classify({ ...behind, phase: "running" })).toMatchObject({ state: "running" });
  });

  test("a shell is interactive unless it runs a script or a text", () => {
    const shell = (...args: string[]) => isInteractiveShell({ ...member, name: args[0] ?? "", args });
    expect([shell("bash"), shell("bash", "--rcfile", "/x/wsh.bash"), shell("zsh", "-il")]).toEqual([true, true, true]);
    expect(shell("fish", "--init-command", "source /x")).toBe(true);
    expect([shell("bash", "run.sh"), shell("sh", "-c", "true"), shell("bash", "-lc", "x")]).toEqual([
      false,
      false,
      false,
    ]);
    expect(shell("vim")).toBe(false);
  });

  test("docker is a relay only if it carries a terminal", () => {
    const docker = (...args: string[]) => {
      const process = { ...member, name: "docker", args: ["docker", ...args], activity: "waiting" } as const;
      return classify({ ...quiet, facts: { ...facts, members: [process] } });
    };
    expect(docker("exec", "-it", "box", "sh").relay).toBe("docker");
    expect(docker("build", ".").relay).toBeNull();
  });
});
