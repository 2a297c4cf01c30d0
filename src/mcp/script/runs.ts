/**
 * Programs of all agents of this server that continue after their call. Each has an id that only its agent can use. A
 * program is stopped when its agent has not asked about it for FORGOTTEN_MS, and when its agent's connection or token
 * ends.
 */
import { WshError } from "../../protocol/errors.ts";
import { ProgramRun } from "./program-run.ts";

/** Programs at the same time, of one agent and of all. */
const MAX_OF_ONE = 8;
const MAX_RUNS = 32;
/** Time without a request after which a program is stopped, in ms. */
const FORGOTTEN_MS = 600_000;

export interface RunCaller {
  /** Of the connection or session, if the agent has one. */
  readonly id: string;
  /** Identifies the agent and its rights: only the same agent can resume its programs. */
  readonly owner: string;
  /** Calls operations on its behalf until the signal aborts. */
  readonly asker: ConstructorParameters<typeof ProgramRun>[1];
  /** Aborts when its token ends. */
  readonly ended: AbortSignal | undefined;
}

interface RetainedRun {
  readonly run: ProgramRun;
  readonly owner: string;
  readonly callerId: string;
  timer: Timer;
}

export class Runs {
  private readonly retained = new Map<string, RetainedRun>();

  /** @throws WshError resource_limit_reached */
  start({ id: callerId, owner, asker, ended }: RunCaller, program: ConstructorParameters<typeof ProgramRun>[0]) {
    const own = [...this.retained.values()].filter((each) => each.owner === owner).length;
    if (own >= MAX_OF_ONE || this.retained.size >= MAX_RUNS) {
      throw new WshError(
        "resource_limit_reached",
        `${own >= MAX_OF_ONE ? own : this.retained.size} programs are already running`,
      );
    }
    const run = new ProgramRun(program, asker);
    // The id is unique across later servers.
    const id = `script-${crypto.randomUUID().slice(0, 8)}`;
    this.retained.set(id, { run, owner, callerId, timer: this.forgetLater(run) });
    const stop = (): void => run.stop();
    ended?.addEventListener("abort", stop, { once: true });
    void run.finished.then(() => ended?.removeEventListener("abort", stop));
    return { id, run };
  }

  /** @throws WshError command_not_found, also for another agent's program */
  find(owner: string, id: string): ProgramRun {
    const retained = this.retained.get(id);
    if (retained === undefined || retained.owner !== owner) {
      throw new WshError("command_not_found", `no program '${id}' is running`, {
        hint: "It has ended, or nothing asked about it for ten minutes.",
      });
    }
    clearTimeout(retained.timer);
    retained.timer = this.forgetLater(retained.run);
    return retained.run;
  }

  /** The result was delivered. */
  forget(id: string): void {
    const retained = this.retained.get(id);
    if (retained === undefined) return;
    clearTimeout(retained.timer);
    retained.run.stop();
    this.retained.delete(id);
  }

  /** The caller's connection or session has ended: nobody can resume its programs or stop them. */
  endAll(callerId: string): void {
    for (const [id, retained] of this.retained) if (retained.callerId === callerId) this.forget(id);
  }

  private forgetLater(run: ProgramRun): Timer {
    const timer = setTimeout(() => {
      const [id] = [...this.retained].find(([, retained]) => retained.run === run) ?? [];
      if (id !== undefined) this.forget(id);
    }, FORGOTTEN_MS);
    timer.unref();
    return timer;
  }
}
