/** State of the server that its own operations read and change: its identity, its limits, and its end. */
import type { Acceptance } from "../../cluster/placement.ts";
import type { HistoryPlaces } from "../../history/paths.ts";
import type { Retention } from "../../history/retention.ts";
import type { Instance } from "../../instance/paths.ts";
import type { Caller } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { localMachine } from "../../protocol/machines.ts";
import type { Owner } from "../../protocol/owner.ts";

export interface ServerState {
  readonly instance: Instance;
  /** This server's name. */
  readonly hostname: string;
  readonly serverId: string;
  /** Time since the start, in ms, by the monotonic clock. */
  uptimeMs(): number;
  readonly limits: Readonly<Record<string, number>>;
  /** The sessions that other machines may start here. */
  readonly accept: Acceptance;
  /** TCP addresses that it listens on. */
  readonly addresses: readonly string[];
  readonly persistent: boolean;
  setPersistent(persistent: boolean): void;
  /** The history's location and retention. */
  readonly history: { readonly places: HistoryPlaces; readonly retention: Retention };
  /** Ends every session, then the server; returns how many sessions there were. */
  stop(): Promise<number>;
  /** The AI agent that may learn only the names of private sessions; null: the caller may learn more. */
  concealedFrom(caller: Caller): Owner | null;
  /** A session was created here: an ephemeral server no longer counts as unused. */
  sessionCreated(): void;
}

/** @throws WshError server_not_found for any name except this server's own and `local` */
export function requireOwnServer(state: ServerState, name: string | null | undefined): void {
  if (name === undefined || name === null || name === state.hostname || name === localMachine) return;
  throw new WshError("server_not_found", `no server '${name}'; this is '${state.hostname}'`);
}
