/** A request to a session of another machine whose connection is lost is repeated to that session, not to its name. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { SessionClient } from "../../../src/cli/session/client.ts";
import { rememberMachine } from "../../../src/cluster/added-machines.ts";
import { type Instance, resolveInstance } from "../../../src/instance/paths.ts";
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

test("after a lost connection the session is found by its id", async () => {
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
        socket.send(JSON.stringify({ open: true }));
        socket.send(
          encodeJsonMessage(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: "0", role: "session", info }),
        );
      },
      message(socket, data) {
        if (typeof data === "string") return;
        for (const message of socket.data.decoder.push(new Uint8Array(data))) {
          if (message.type !== messageTypes.request) continue;
          // The answer to the first request is lost.
          if (socket.data.isFirst) return socket.terminate();
          const { id } = v.parse(RequestSchema, messageJson(message));
          socket.send(encodeJsonMessage(messageTypes.response, { id, result: {} }));
        }
      },
    },
  });
  await rememberMachine(instance, { name: "m", address: `http://127.0.0.1:${server.port}`, token: "x".repeat(32) });
  using session = await SessionClient.open(instance, "m/dev");
  await session.call("overlay.clear", {});
  expect(dialed).toEqual(["dev", "@s1"]);
});
