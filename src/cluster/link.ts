/**
 * The connection to another machine's gateway, over any transport: operations by `call`, the socket of a session
 * process by `dial`. A link connects at the first need and reconnects after a loss; it keeps no session state. A change
 * has an id and a deadline there: after a lost connection it is repeated, and executed once (ask-again.ts). A sent
 * request without an answer is then `outcome_unknown`, an unsent one `machine_unreachable`.
 */
import type { OperationInput, OperationName, OperationOutput } from "../operations/table.ts";
import type { Access, Caller } from "../protocol/caller.ts";
import { defined, present } from "../protocol/defined.ts";
import type { LinkHello, MachineHealth } from "../protocol/machines.ts";
import { agentOfCaller } from "../protocol/owner.ts";
import { shareOf } from "../protocol/shares.ts";
import type { Dial } from "../wire/connection.ts";

export interface LinkCallOptions {
  /** Target there, without the machine's name. */
  readonly session?: string;
  readonly caller: Caller;
  /** Of the caller; absent: the account's own. */
  readonly access?: Access;
  readonly signal?: AbortSignal;
  /** The request's id there; without one the link gives it an id. */
  readonly request?: LinkRequest;
  /** Unix time in ms by this machine's clock after which it is not begun there. */
  readonly deadline?: number;
}

export interface LinkRequest {
  readonly id: string;
  /** The caller's name for the request; absent: its id. */
  readonly shown?: string | undefined;
  /** Unix time in ms at which it was sent for the first time; absent: it is now. */
  readonly firstAt?: number | undefined;
}

/** An event of that machine, with its own names (docs/protocol.md, Events). */
export interface RemoteEvent {
  readonly event: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface LinkEvents {
  event(event: RemoteEvent): void;
  /** So many events were left out, since we read too slowly. */
  missed(count: number): void;
  /** The way is lost; not called when it was disposed of. */
  closed(): void;
}

/** Known facts about a link, without asking. */
export interface LinkState {
  readonly health: MachineHealth;
  readonly hello: LinkHello | null;
  /** Unix time in ms of the last answer; null: none yet. */
  readonly answeredAt: number | null;
  readonly error: string | null;
}

/** Clocks that differ by more, in ms, make credentials, certificates and times in lists wrong. */
export const CLOCK_MS = 5_000;

/** The advice when two clocks differ and nothing shows which one is right. */
export const UNDECIDED = "Either clock may be wrong: synchronize both with NTP";

/** One step of the connection, for `wsh doctor`. */
export interface LinkStep {
  readonly step: string;
  readonly ok: boolean;
  readonly text: string;
  readonly advice?: string;
}

export interface Link {
  readonly machine: string;
  readonly state: LinkState;
  /** Connects, or checks that the machine answers. @throws WshError machine_unreachable, version_mismatch, auth_… */
  hello(): Promise<LinkHello>;
  /**
   * Asks one operation there; the answer has the form of the operation table.
   * @throws WshError the operation's error there, machine_unreachable, outcome_unknown
   */
  call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    options: LinkCallOptions,
  ): Promise<OperationOutput<N>>;
  /** The socket of the process that has the target there. Opening it connects the link if need be. */
  dial(target: string): Dial;
  /**
   * Events of the sessions there, until disposed of or disconnected.
   * @throws WshError machine_unreachable and others
   */
  events(sink: LinkEvents): Promise<Disposable>;
  /** A time of this machine by the clock of that one, never later than it is; the same while that is not known. */
  timeThere(time: number): number;
  /** Checks the connection step by step, from scratch. */
  examine(): AsyncIterable<LinkStep>;
  close(): Promise<void>;
}

/** The part of a caller that is sent to another machine. */
export function sentCaller(caller: Caller, access: Access = "admin"): object {
  const { kind, id, name } = caller;
  const agent = agentOfCaller(caller);
  const share = shareOf({ caller, access });
  const named = { ...defined({ name }), ...present({ agent }) };
  return { kind, id, ...named, ...present({ share }) };
}
