/**
 * Programs of all agents of this server that continue after their call. Each has an id that only its agent can use. A
 * program is stopped when its agent has not asked about it for FORGOTTEN_MS, and when its agent's token ends.
 */
import { WshError } from "../../protocol/errors.ts";
import { ProgramRun } from "./program-run.ts";

/** Programs at the same time, of one agent and of all. */
const MAX_OF_ONE = 8;
const MAX_RUNS = 32;
/** Time without a request after which a program is stopped, in ms. */
const FORGOTTEN_MS = 600_000;

interface RetainedRun {
  readonly run: ProgramRun;
  readonly owner: string;
  timer: Timer;
}

export class Runs {
  private readonly retained = new Map<string, RetainedRun>();

  /** @throws WshError resource_limit_reached */
  start(
    owner: string,
    program: ConstructorParameters<typeof ProgramRun>[0],
    asker: ConstructorParameters<typeof ProgramRun>[1],
    ended?: AbortSignal,
  ) {
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
    this.retained.set(id, { run, owner, timer: this.forgetLater(run) });
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

  private forgetLater(run: ProgramRun): Timer {
    const timer = setTimeout(() => {
      const [id] = [...this.retained].find(([, retained]) => retained.run === run) ?? [];
      if (id !== undefined) this.forget(id);
    }, FORGOTTEN_MS);
    timer.unref();
    return timer;
  }
}
