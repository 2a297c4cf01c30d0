/** Streams of another machine to a pane that has moved to another session, whose former process still runs it. */
import { afterEach, expect, test } from "bun:test";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import type { Machines } from "../../../src/cluster/machines.ts";
import type { CallContext } from "../../../src/operations/call.ts";
import type { DialedProcess } from "../../../src/protocol/machines.ts";
import {
  encodeJsonMessage,
  MessageDecoder,
  messageJson,
  messageTypes,
  PROTOCOL_VERSION,
} from "../../../src/protocol/messages.ts";
import { VERSION } from "../../../src/protocol/version.ts";
import { LinkEnd } from "../../../src/server/machines/link-end.ts";
import { SessionsEverywhere } from "../../../src/server/machines/streamed-sessions.ts";
import type { SessionProxies } from "../../../src/server/sessions/session-proxies.ts";
import { Wire } from "../../../src/wire/socket.ts";
import { sessionInfo } from "../../support/session-info.ts";
import { until } from "../../support/until.ts";

const RequestSchema = v.looseObject({ id: v.number(), op: v.string() });
/** The session's number is 1; its pane began in session 2. */
const info = sessionInfo({ id: "@s1", name: "dev", pane_id: "@2" });

/** A session process that counts its connections. */
class SessionProcess implements Disposable {
  connectionCount = 0;
  private readonly directory = fs.mkdtempSync(join(tmpdir(), "wsh-stream-"));
  readonly socket = join(this.directory, "1.sock");
  private readonly listener = Bun.listen<MessageDecoder>({
    unix: this.socket,
    socket: {
      open: (socket) => {
        this.connectionCount++;
        socket.data = new MessageDecoder();
        socket.write(
          encodeJsonMessage(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: "0", role: "session", info }),
        );
      },
      data: (socket, bytes) => {
        for (const message of socket.data.push(bytes)) {
          if (message.type !== messageTypes.request) continue;
          const { id } = v.parse(RequestSchema, messageJson(message));
          socket.write(encodeJsonMessage(messageTypes.response, { id, result: { pane: "@2", socket: "/2.sock" } }));
        }
      },
    },
  });

  [Symbol.dispose](): void {
    this.listener.stop(true);
    fs.rmSync(this.directory, { recursive: true });
  }
}

const started: SessionProcess[] = [];
afterEach(() => {
  for (const process of started.splice(0)) process[Symbol.dispose]();
});

function start(): SessionProcess {
  const process = new SessionProcess();
  started.push(process);
  return process;
}

function contextOf(only?: string): CallContext {
  const caller = { kind: "http", id: "link:test", connected: false, ...(only === undefined ? {} : { only }) } as const;
  return { caller, access: "admin", signal: new AbortController().signal } as CallContext;
}

/** A machine's end of a link, with session `dev`, whose only pane another process runs. */
function endWith(session: SessionProcess, guest: SessionProcess): LinkEnd {
  const proxyOf = ({ socket }: SessionProcess): object => ({ info, version: VERSION, entry: { socket } });
  const [proxy, owner] = [proxyOf(session), proxyOf(guest)];
  const proxies = { find: async () => proxy, ownerOf: async () => ({ owner, pane: "@2" }) };
  const options = { proxies, audit: null, streamsChanged() {} };
  return new LinkEnd(options as unknown as ConstructorParameters<typeof LinkEnd>[0]);
}

async function open(end: LinkEnd, process: DialedProcess, only?: string): Promise<void> {
  const relay = await end.openStream("@2", process, contextOf(only));
  const isOpen = Promise.withResolvers<void>();
  relay.open({ send: () => isOpen.resolve(), sendBinary() {}, close() {} });
  await isOpen.promise;
  relay.close();
}

test("a stream to a pane that has moved is connected to the process that was asked for", async () => {
  const [session, guest] = [start(), start()];
  const end = endWith(session, guest);
  await open(end, "pane");
  await until("the guest's process", () => guest.connectionCount === 1);
  expect(session.connectionCount).toBe(0);
  await open(end, "session");
  await until("the session's process", () => session.connectionCount === 1);
  expect(guest.connectionCount).toBe(1);
});

test("a token for one session is not connected to the process of another session", async () => {
  const [session, guest] = [start(), start()];
  const end = endWith(session, guest);
  await expect(open(end, "pane", "@s1")).rejects.toThrow(/concerns more than session '@s1'/);
  await open(end, "session", "@s1");
  await until("the session's process", () => session.connectionCount === 1);
  expect(guest.connectionCount).toBe(0);
});

test("streams of a remote session whose only pane has moved there go to the process that runs the pane", async () => {
  const session = start();
  const link = {
    hello: async () => ({}),
    dial(target: string, process?: DialedProcess) {
      const called = `m/${target} ${process ?? "session"}`;
      return { called, open: (events: Parameters<typeof Wire.connect>[1]) => Wire.connect(session.socket, events) };
    },
  };
  const machines = { link: () => link } as unknown as Machines;
  const everywhere = new SessionsEverywhere({} as SessionProxies, machines, "here");
  const { address, target, isPart, info: named } = await everywhere.pane("m/dev");
  const dialed = typeof address === "string" ? address : address.called;
  expect([dialed, target, isPart, named.pane_id]).toEqual(["m/@2 pane", "@2", true, "m/@2"]);
});
