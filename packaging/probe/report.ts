/** What a probe found, as JSON: each check is ok, failed or skipped, with what was measured, whatever its state. */

/** Longest time of a check unless it says another, in ms: a hang is a failure, and the next check still runs. */
const CHECK_MS = 60_000;

export type State = "ok" | "failed" | "skipped";
export type Facts = Readonly<Record<string, unknown>>;

export interface CheckReport {
  readonly name: string;
  readonly state: State;
  readonly ms: number;
  /** Why it failed or was skipped. */
  readonly why?: string;
  readonly facts?: Facts;
}

export interface StepReport {
  readonly step: number;
  readonly name: string;
  readonly state: State;
  readonly ms: number;
  readonly checks: readonly CheckReport[];
}

/** Ends a check that does not apply to this machine. */
export class Skipped extends Error {}

/** Ends a check that failed, with what was measured. */
export class Failed extends Error {
  constructor(
    message: string,
    readonly facts: Facts,
  ) {
    super(message);
  }
}

/** @throws Failed with the facts unless the condition holds */
export function require(condition: boolean, message: string, facts: Facts = {}): asserts condition {
  if (!condition) throw new Failed(message, facts);
}

export class Checks {
  private readonly reports: CheckReport[] = [];

  constructor(private readonly say: (line: string) => void) {}

  /** Runs one check to its end, its failure or its deadline. */
  async check(name: string, run: () => Promise<Facts | undefined>, ms: number = CHECK_MS): Promise<void> {
    const started = performance.now();
    const report = (state: State, more: Pick<CheckReport, "why" | "facts">): void => {
      this.reports.push({ name, state, ms: Math.round(performance.now() - started), ...more });
      const facts = more.facts === undefined ? "" : ` ${JSON.stringify(more.facts)}`;
      this.say(`${state.padEnd(8)}${name}${more.why === undefined ? "" : `: ${more.why}`}${facts}`);
    };
    let timer: Timer | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not within ${ms} ms`)), ms);
    });
    try {
      const facts = await Promise.race([run(), tooLong]);
      report("ok", facts === undefined ? {} : { facts });
    } catch (thrown) {
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      if (thrown instanceof Skipped) report("skipped", { why });
      else report("failed", thrown instanceof Failed ? { why, facts: thrown.facts } : { why });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Failed with one check, skipped when nothing was checked. */
  get state(): State {
    if (this.reports.some(({ state }) => state === "failed")) return "failed";
    return this.reports.some(({ state }) => state === "ok") ? "ok" : "skipped";
  }

  get all(): readonly CheckReport[] {
    return this.reports;
  }
}
