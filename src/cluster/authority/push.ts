/** Gives running servers an account's new JWT, by the system account's subject for that. */
import { connect, jwtAuthenticator } from "@nats-io/transport-node";
import * as v from "valibot";
import { WshError } from "../../protocol/errors.ts";

/** Longest wait for a server, in ms. */
const PATIENCE_MS = 5_000;

export interface PushOptions {
  readonly servers: readonly string[];
  readonly ca: string | null;
  readonly jwt: string;
  readonly seed: string;
}

const AnswerSchema = v.object({ data: v.object({ code: v.number() }) });

/** @throws WshError machine_unreachable */
export async function pushAccount({ servers, ca, jwt, seed }: PushOptions, account: string): Promise<void> {
  try {
    const connection = await connect({
      servers: servers.map((server) => server.replace(/^tls:\/\//, "")),
      authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
      tls: ca === null ? {} : { ca },
      timeout: PATIENCE_MS,
      reconnect: false,
    });
    try {
      const answer = await connection.request("$SYS.REQ.CLAIMS.UPDATE", account, { timeout: PATIENCE_MS });
      const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), AnswerSchema), answer.string());
      if (!parsed.success || parsed.output.data.code !== 200) throw new Error(answer.string().slice(0, 200));
    } finally {
      await connection.close();
    }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WshError(
      "machine_unreachable",
      `all servers of the fleet refused the change: ${reason}`,
      {},
      { cause: thrown },
    );
  }
}
