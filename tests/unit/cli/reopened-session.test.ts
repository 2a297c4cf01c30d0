/** A request to a session of another machine whose connection is lost is repeated to that session, not to its name. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { SessionClient } from "../../../src/cli/session/client.ts";
import { rememberMachine } from "../../../src/cluster/added-machines.ts";
import { STREAM_ENDED } from "../../../src/cluster/stream.ts";
import { type Instance, resolveInstance } from "../../../src/instance/paths.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import {
  encodeJsonMessage,
  MessageDecoder,
  messageJson,
  messageTypes,
  PROTOCOL_VERSION,
} from "../../../src/protocol/messages.ts";
import { VERSION } from "../../../src/protocol/version.ts";
import { sessionInfo } from "../../support/session-info.ts";

const RequestSchema = v.looseObject({ id: v.number(), op: v.string() });

let dir = "";
let instance: Instance;
beforeEach(() => {
  dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-reopened-"));
  instance = resolveInstance({ env: { XDG_RUNTIME_DIR: dir, XDG_STATE_HOME: dir, HOME: dir } });
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

/** What becomes of the first connection when its request has arrived, and of the second one. */
interface Fate {
  readonly first: "lost" | "ended";
  readonly isGone: boolean;
}

/** Calls a session whose first answer never arrives. @returns the targets of its connections, and the error's code */
async function callWith({ first, isGone }: Fate): Promise<{ dialed: (string | null)[]; code: string | null }> {
  const dialed: (string | null)[] = [];
  const info = sessionInfo({ id: "@s1", name: "dev", pane_id: "@1" });
  await using server = Bun.serve<{ readonly decoder: MessageDecoder; readonly isFirst: boolean }>({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request, gateway) {
      const url = new URL(request.url);
      if (url.pathname !== "/link/stream") {
        return Response.json({
          ...{ wsh: PROTOCOL_VERSION, version: VERSION, server_id: "m", hostname: "m", now: Date.now() },
        });
      }
      dialed.push(url.searchParams.get("target"));
      gateway.upgrade(request, { data: { decoder: new MessageDecoder(), isFirst: dialed.length === 1 } });
    },
    websocket: {
      open(socket) {
        if (isGone && !socket.data.isFirst) {
          socket.send(JSON.stringify({ error: { code: "session_not_found", message: "no session '@s1'" } }));
          return;
        }
        socket.send(JSON.stringify({ open: true }));
        socket.send(
          encodeJsonMessage(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: "0", role: "session", info }),
        );
      },
      message(socket, data) {
        if (typeof data === "string") return;
        for (const message of socket.data.decoder.push(new Uint8Array(data))) {
          if (message.type !== messageTypes.request) continue;
          if (socket.data.isFirst && first === "lost") return socket.terminate();
          if (socket.data.isFirst) return socket.close(1000, STREAM_ENDED);
          const { id } = v.parse(RequestSchema, messageJson(message));
          socket.send(encodeJsonMessage(messageTypes.response, { id, result: {} }));
        }
      },
    },
  });
  await rememberMachine(instance, { name: "m", address: `http://127.0.0.1:${server.port}`, token: "x".repeat(32) });
  using session = await SessionClient.open(instance, "m/dev");
  const code = await session.call("overlay.clear", {}).then(
    () => null,
    (thrown) => WshError.from(thrown).code,
  );
  return { dialed, code };
}

test("after a lost connection the session is found by its id", async () => {
  expect(await callWith({ first: "lost", isGone: false })).toEqual({ dialed: ["dev", "@s1"], code: null });
});

test("the outcome is unknown if the session is gone after a lost connection", async () => {
  expect(await callWith({ first: "lost", isGone: true })).toMatchObject({ code: "outcome_unknown" });
});

test("a request has ended with the session whose process ended the connection", async () => {
  expect(await callWith({ first: "ended", isGone: true })).toMatchObject({ code: "session_unavailable" });
});
