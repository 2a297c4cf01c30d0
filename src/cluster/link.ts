/**
 * The connection to another machine's gateway, over any transport: operations by `call`, the socket of a session
 * process by `dial`. A link connects at the first need and reconnects after a loss; it keeps no session state. A change
 * has an id and a deadline there: after a lost connection it is repeated, and executed once (repeated-request.ts). A sent
 * request without an answer is then `outcome_unknown`, an unsent one `machine_unreachable`.
 */
import type { OperationInput, OperationName, OperationOutput } from "../operations/table.ts";
import type { Access, Caller } from "../protocol/caller.ts";
import { defined, present } from "../protocol/defined.ts";
import type { DialedProcess, LinkHello, MachineHealth } from "../protocol/machines.ts";
import { agentOfCaller } from "../protocol/owner.ts";
import { shareOf } from "../protocol/shares.ts";
import type { Dial } from "../wire/connection.ts";
import type { CertificateStep } from "./certificate-step.ts";

export interface LinkCallOptions {
  /** Target there, without the machine's name. */
  readonly session?: string;
  readonly caller: Caller;
  /** Access of the caller; absent: the account's own. */
  readonly access?: Access;
  readonly signal?: AbortSignal;
  /** Id of the request on that machine; without one, the link gives it an id. */
  readonly request?: LinkRequest;
  /** Unix time in ms by this machine's clock after which the call is not begun there. */
  readonly deadline?: number;
}

export interface LinkRequest {
  readonly id: string;
  /** The request's name for the caller; absent: its id. */
  readonly displayId?: string | undefined;
  /** Unix time in ms at which it was first sent; absent: now. */
  readonly firstAt?: number | undefined;
}

/** An event of that machine, with its own names (docs/protocol.md, Events). */
export interface RemoteEvent {
  readonly event: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface LinkEvents {
  event(event: RemoteEvent): void;
  /** This many events were omitted because they were read too slowly. */
  eventsMissed(count: number): void;
  /** The connection is lost; not called after disposal. */
  connectionLost(): void;
}

/** Facts about a link that are known without a request. */
export interface LinkState {
  readonly health: MachineHealth;
  readonly hello: LinkHello | null;
  /** Unix time in ms of the last answer; null: none yet. */
  readonly answeredAt: number | null;
  readonly error: string | null;
}

/** Difference between clocks, in ms, above which credentials, certificates and times in lists are wrong. */
export const CLOCK_MS = 5_000;

/** The advice when two clocks differ and nothing shows which one is right. */
export const UNDECIDED = "Either clock may be wrong: synchronize both with NTP";

/** One step of the connection, for `wsh doctor`. */
export interface LinkStep extends CertificateStep {
  readonly step: string;
}

export interface Link {
  readonly machine: string;
  readonly state: LinkState;
  /** Connects, or checks that the machine answers. @throws WshError machine_unreachable, version_mismatch, auth_… */
  hello(): Promise<LinkHello>;
  /**
   * Calls one operation there; the answer has the form of the operation table.
   * @throws WshError the operation's error there, machine_unreachable, outcome_unknown
   */
  call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    options: LinkCallOptions,
  ): Promise<OperationOutput<N>>;
  /**
   * A dial to the socket of a process on that machine. Opening it connects the link if necessary.
   * @param process of a pane whose process is not its session's, which of them; a server of an earlier version connects
   * to the session's
   */
  dial(target: string, process?: DialedProcess): Dial;
  /**
   * Events of the sessions there, until disposed of or disconnected.
   * @throws WshError machine_unreachable and others
   */
  events(sink: LinkEvents): Promise<Disposable>;
  /**
   * Converts a time to that machine's clock, never later than the actual time; unchanged while the difference is
   * unknown.
   */
  toRemoteTime(time: number): number;
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
