/**
 * The way to another machine's gateway, whatever carries it: operations by `call`, the socket of a session process by
 * `dial`. A link connects at the first need and again after it was lost; it keeps no session state. What was sent and
 * has no answer is `outcome_unknown`, what was not sent `machine_unreachable`: nothing is sent twice.
 */
import type { OperationInput, OperationName, OperationOutput } from "../operations/table.ts";
import type { Caller } from "../protocol/caller.ts";
import type { LinkHello, MachineHealth } from "../protocol/machines.ts";
import type { Dial } from "../wire/connection.ts";

export interface LinkCallOptions {
  /** Target there, without the machine's name. */
  readonly session?: string;
  readonly caller: Caller;
  readonly signal?: AbortSignal;
}

/** What is known of a link without asking. */
export interface LinkState {
  readonly health: MachineHealth;
  readonly hello: LinkHello | null;
  /** Unix time in ms of the last answer; null: none yet. */
  readonly answeredAt: number | null;
  readonly error: string | null;
}

/** One step of the way, for `wsh doctor`. */
export interface LinkStep {
  readonly step: string;
  readonly ok: boolean;
  readonly text: string;
  readonly advice?: string;
}

export interface Link {
  readonly machine: string;
  readonly state: LinkState;
  /** Connects, or checks that the machine answers. @throws WshError machine_unreachable, host_version, auth_… */
  hello(): Promise<LinkHello>;
  /**
   * Asks one operation there; the answer has the form that the operation table says.
   * @throws WshError what the operation threw there, machine_unreachable, outcome_unknown
   */
  call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    options: LinkCallOptions,
  ): Promise<OperationOutput<N>>;
  /** The socket of the process that has the target there. Opening it connects the link if need be. */
  dial(target: string): Dial;
  /** Checks the way step by step, from nothing. */
  examine(): AsyncIterable<LinkStep>;
  close(): Promise<void>;
}
