/**
 * Many machines of a fleet, simulated by one process: each sends heartbeats, and answers requests for its list. As a
 * program it is a separate process, which reads its orders (`Orders`) as JSON from standard input.
 */
import { connect, type Msg, type NatsConnection, usernamePasswordAuthenticator } from "@nats-io/transport-node";
import { intervals } from "../../src/platform/intervals.ts";
import type { Beat } from "../../src/protocol/fleet-messages.ts";
import { beatSubject, encodeToken, requestsTo, serviceSubject } from "../../src/protocol/fleet-subjects.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/messages.ts";

/** Heartbeats of all machines are spread over their interval in so many turns. */
const TURNS = 100;

interface Orders {
  readonly url: string;
  /** A user that may publish everything. */
  readonly user: string;
  readonly password: string;
  /** They are named `s0`, `s1` and so on. */
  readonly count: number;
  /** The list of each, as in GET /sessions. */
  readonly sessions: readonly object[];
}

/** Starts the process. It ends with its standard input. */
export async function simulateMachines(orders: Orders): Promise<Bun.Subprocess & AsyncDisposable> {
  const child = Bun.spawn([process.execPath, import.meta.path], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  child.stdin.write(`${JSON.stringify(orders)}\n`);
  child.stdin.flush();
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error("the simulated machines did not start");
  return child;
}

class SimulatedMachines {
  private turn = 0;

  constructor(
    private readonly nats: NatsConnection,
    private readonly orders: Orders,
  ) {
    const encoder = new TextEncoder();
    const list = encoder.encode(JSON.stringify({ result: orders.sessions }));
    const error = { code: "unsupported", message: "this machine is simulated" };
    const none = encoder.encode(JSON.stringify({ error }));
    const asksForList = `.${encodeToken("sessions.list")}`;
    const answer = (_: unknown, message: Msg): void => {
      message.respond(message.subject.endsWith(asksForList) ? list : none);
    };
    for (let at = 0; at < orders.count; at++) nats.subscribe(requestsTo(`s${at}`), { callback: answer });
    nats.subscribe(serviceSubject("PING"), { callback: () => this.beat(0, orders.count) });
    nats.subscribe(serviceSubject("PING", "*"), {
      callback: (_, { subject }) => {
        const at = Number(/\.s(\d+)$/.exec(subject)?.[1] ?? -1);
        if (at >= 0) this.beat(at, at + 1);
      },
    });
    // Requested only to make the servers report missing responders.
    nats.subscribe(serviceSubject("INFO", "*"), { callback: () => {} });
    setInterval(() => {
      const size = Math.ceil(orders.count / TURNS);
      this.beat(this.turn * size, Math.min(orders.count, (this.turn + 1) * size));
      this.turn = (this.turn + 1) % TURNS;
    }, intervals.fleetBeat / TURNS);
  }

  private beat(from: number, to: number): void {
    const { sessions } = this.orders;
    for (let at = from; at < to; at++) {
      const said: Beat = {
        ...{ boot: `boot of s${at}`, rev: 1, settled: true, wsh: PROTOCOL_VERSION, version: "0", hostname: `s${at}` },
        ...{ at: Date.now(), sessions: sessions.length, load: (at % 100) / 100, tags: [], accept: "named" },
      };
      this.nats.publish(beatSubject(`s${at}`), JSON.stringify(said));
    }
  }
}

if (import.meta.main) {
  let text = "";
  for await (const line of console) {
    text = line;
    break;
  }
  const orders = JSON.parse(text) as Orders;
  const { url, user, password } = orders;
  const authenticator = usernamePasswordAuthenticator(user, password);
  const nats = await connect({ servers: [url], authenticator, maxReconnectAttempts: -1, reconnectTimeWait: 250 });
  new SimulatedMachines(nats, orders);
  await nats.flush();
  console.log("ready");
  process.stdin.on("end", () => process.exit(0));
  process.stdin.resume();
}
