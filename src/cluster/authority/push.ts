/** Requests to running servers from their system account: setting a new account's JWT, and listing connections. */
import { connect, jwtAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import * as v from "valibot";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";

/** Longest wait for a server, in ms. */
const PATIENCE_MS = 5_000;

export interface PushOptions {
  readonly servers: readonly string[];
  readonly ca: string | null;
  readonly jwt: string;
  readonly seed: string;
}

/**
 * Wait for the answers of a cluster's servers, in ms; connections in one answer; NATS's number for open and closed
 * ones.
 */
const ANSWERS_MS = 1_000;
const PAGE = 1_000;
const ANY_STATE = 2;

const ConnectionsSchema = v.object({
  data: v.object({
    connections: v.array(v.object({ name: v.optional(v.string()), start: v.string() })),
    total: v.number(),
  }),
});
const AnswerSchema = v.object({ data: v.object({ code: v.number() }) });

/** @throws WshError machine_unreachable */
export function pushAccount(options: PushOptions, account: string): Promise<void> {
  return asSystem(options, async (connection) => {
    const answer = await connection.request("$SYS.REQ.CLAIMS.UPDATE", account, { timeout: PATIENCE_MS });
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), AnswerSchema), answer.string());
    if (!parsed.success || parsed.output.data.code !== 200) throw new Error(answer.string().slice(0, 200));
  });
}

/**
 * Whether a user has connected since a time, according to the running servers.
 * @param name name of its connections
 * @param since Unix time in ms
 * @throws WshError machine_unreachable
 */
export function wasConnected(options: PushOptions, name: string, since: number): Promise<boolean> {
  return asSystem(options, async (connection) => {
    let isMore = true;
    for (let offset = 0; isMore; offset += PAGE) {
      isMore = false;
      const asked = JSON.stringify({ state: ANY_STATE, limit: PAGE, offset });
      // Each server of a cluster answers.
      const answers = await connection.requestMany("$SYS.REQ.SERVER.PING.CONNZ", asked, { maxWait: ANSWERS_MS });
      for await (const answer of answers) {
        const { connections, total } = v.parse(ConnectionsSchema, answer.json()).data;
        if (connections.some((each) => each.name === name && Date.parse(each.start) > since)) return true;
        isMore ||= total > offset + PAGE;
      }
    }
    return false;
  });
}

async function asSystem<T>(
  { servers, ca, jwt, seed }: PushOptions,
  request: (connection: NatsConnection) => Promise<T>,
): Promise<T> {
  try {
    const connection = await connect({
      servers: servers.map((server) => server.replace(/^tls:\/\//, "")),
      authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
      tls: present({ ca }),
      timeout: PATIENCE_MS,
      reconnect: false,
    });
    try {
      return await request(connection);
    } finally {
      await connection.close();
    }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WshError("machine_unreachable", `no server of the fleet answered: ${reason}`, {}, { cause: thrown });
  }
}
