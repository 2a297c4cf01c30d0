/** A pane that another process runs, as its session sees it: the process's answers, and what it is told. */
import { afterEach, expect, test } from "bun:test";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { layoutPanels } from "../../../src/compositor/panel-layout.ts";
import {
  encodeJsonMessage,
  MessageDecoder,
  messageJson,
  messageTypes,
  PROTOCOL_VERSION,
} from "../../../src/protocol/messages.ts";
import { addSplit } from "../../../src/session/windows/changes.ts";
import { oneWindow, paneEntry } from "../../../src/session/windows/state.ts";
import { Arrangement } from "../../../src/session-process/panes/arrangement.ts";
import type { PlacedPaneEvents } from "../../../src/session-process/panes/placed-pane.ts";
import { ViewLink } from "../../../src/session-process/panes/view-link.ts";
import { sessionInfo } from "../../support/session-info.ts";
import { until } from "../../support/until.ts";

const SIZE = { rows: 24, cols: 80 };
const PANE = {
  ...{ id: "@7", pid: 12, command: "bash", ...SIZE, cwd: "/", title: "", state: "prompt" },
};
const HOUR_MS = 3_600_000;
const RequestSchema = v.looseObject({ id: v.number(), op: v.string(), input: v.unknown() });

/** A session process that runs the pane, and whose own session has been idle for an hour. */
class PaneProcess implements Disposable {
  readonly requests: { readonly op: string; readonly input: unknown }[] = [];
  /** Answer to `peer.pane`. */
  pane: object = { info: PANE };
  /** Ends the guest's program, and its stream. */
  end: (exit_code: number) => void = () => {};
  private readonly directory = fs.mkdtempSync(join(tmpdir(), "wsh-guest-"));
  readonly socket = join(this.directory, "7.sock");
  private readonly listener = Bun.listen<MessageDecoder>({
    unix: this.socket,
    socket: {
      open: (socket) => {
        socket.data = new MessageDecoder();
        const info = sessionInfo({ idle_ms: HOUR_MS, last_activity_ms: HOUR_MS });
        const hello = { wsh: PROTOCOL_VERSION, version: "0", role: "session", info };
        socket.write(encodeJsonMessage(messageTypes.hello, hello));
        this.end = (exit_code) => {
          socket.write(encodeJsonMessage(messageTypes.end, { reason: "exited", exit_code, signal: null }));
        };
      },
      data: (socket, bytes) => {
        for (const message of socket.data.push(bytes)) {
          if (message.type !== messageTypes.request) continue;
          const { id, op, input } = v.parse(RequestSchema, messageJson(message));
          this.requests.push({ op, input });
          const result = op === "peer.pane" ? this.pane : {};
          socket.write(encodeJsonMessage(messageTypes.response, { id, result }));
        }
      },
    },
  });

  asked(op: string): unknown[] {
    return this.requests.flatMap((request) => (request.op === op ? [request.input] : []));
  }

  [Symbol.dispose](): void {
    this.listener.stop(true);
    fs.rmSync(this.directory, { recursive: true });
  }
}

const links: ViewLink[] = [];
afterEach(() => {
  for (const link of links.splice(0)) link.close();
});

const ignore = (): void => {};
const unheard: PlacedPaneEvents = {
  ...{ rendered: ignore, echoed: ignore, bellRang: ignore, effect: ignore, copied: ignore, listingChanged: ignore },
  ...{ agent: ignore, ended: ignore, processLost: ignore, eventReported: ignore },
};

async function guestOf({ socket }: PaneProcess, events = unheard): Promise<ViewLink> {
  const link = await ViewLink.open({ id: "@7", socket, target: "@7", isGuest: true }, SIZE, "/other.sock", events);
  links.push(link);
  await link.refresh();
  return link;
}

test("is idle as long as itself, not as the session that it has left", async () => {
  using runner = new PaneProcess();
  runner.pane = { info: PANE, idle_ms: 1_000 };
  const link = await guestOf(runner);
  expect(link.idleMs()).toBeGreaterThanOrEqual(1_000);
  expect(link.idleMs()).toBeLessThan(HOUR_MS);
});

test("its process learns whether its session is private when that changes, and when the pane has just come", async () => {
  using runner = new PaneProcess();
  const link = await guestOf(runner);
  for (const isPrivate of [false, true, true, false]) link.setPrivate(isPrivate);
  link.setPrivate(false, true);
  await link.request("peer.resolve", {});
  expect(runner.asked("peer.private_pane")).toEqual([{ on: true }, { on: false }, { on: false }]);
});

test("whose program has ended stays ended when it cannot be restarted", async () => {
  using runner = new PaneProcess();
  const arrangement = new Arrangement(oneWindow(1, paneEntry("@1")), SIZE, {
    ...{ keepAfterExit: true, wasSplit: false, showsCrashed: false, renumberFrom: null },
    layoutAt: (outer) => layoutPanels([], outer),
  });
  arrangement.placedPanes.set("@7", await guestOf(runner, arrangement.handlersFor("@7")));
  const beside = { pane: "@1", side: "right", whole: false, focus: false } as const;
  arrangement.commit(addSplit(arrangement.state, paneEntry("@7"), beside, SIZE));
  runner.end(4);
  await until("its end", () => arrangement.endedPanes.has("@7"));
  await expect(arrangement.restart("@7")).rejects.toMatchObject({ code: "session_ended" });
  expect(arrangement.endedPanes.get("@7")).toEqual({ code: 4, signal: null });
  expect(arrangement.isLiving("@7")).toBe(false);
});
