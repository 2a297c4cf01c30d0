/** The loops of a terminal's waits: one call waits for a part of the time, and a wait goes on until it is decided. */
import type { OperationInput, OperationName, OperationOutput } from "../../operations/table.ts";
import type { ConditionInput } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import { Screen } from "./screen.ts";
import { isGone } from "./steps.ts";

export type Ask = <N extends OperationName>(name: N, input: OperationInput<N>) => Promise<OperationOutput<N>>;

/** What `waitFor` waits for; the first that holds decides. */
interface Goal {
  readonly conditions: readonly ConditionInput[];
  /** End the wait without success. */
  readonly ends: readonly ConditionInput[];
  /** Whether a screen decides. */
  readonly shows: (screen: Screen) => boolean;
  /** Whether every screen is asked, not only the present one. */
  readonly every: boolean;
  /** The command that conditions on a command refer to. */
  readonly command: number | undefined;
}

/** A step that waits in two ways; the decision of one ends the other. */
interface Race {
  isOver: boolean;
}

/** Longest call of a wait that may be decided otherwise, in ms: calls cannot be cancelled. */
const RACE_MS = 100;

/**
 * @returns the screen that decided, or that was shown when a condition held; `ended`: decided by the end;
 * else the reason why no condition can hold, if it is known
 */
export async function reached(
  ask: Ask,
  { conditions, ends, shows, every, command: command_id }: Goal,
  deadline: number,
): Promise<Screen | "ended" | { readonly reason: string | undefined }> {
  const any_of = [...conditions, ...ends];
  const race: Race | undefined = every && any_of.length > 0 ? { isOver: false } : undefined;
  const looks = screens(ask, deadline, every, race);
  const { value: now } = await looks.next();
  if (now === undefined || shows(now)) return now ?? "ended";
  let reason: string | undefined;

  async function wait(since: number): Promise<Screen | "ended" | null> {
    if (any_of.length === 0) return null;
    const found = await decided(ask, { any_of, since, ...defined({ command_id }) }, deadline, race);
    reason = found.reason;
    if (isOneOf(conditions, found.decided_by)) return present(ask);
    return isOneOf(ends, found.decided_by) ? "ended" : null;
  }

  async function look(): Promise<Screen | null> {
    if (every) for await (const screen of looks) if (shows(screen)) return screen;
    return null;
  }

  const looking = look().catch(nullIfGone);
  const first = await firstOf([wait(now.output_cursor).catch(nullIfGone), looking]).finally(() => {
    if (race !== undefined) race.isOver = true;
  });
  if (first !== "ended") return first ?? { reason };
  // A program's last output arrives with its end.
  const last = (await looking) ?? (await present(ask).catch(nullIfGone));
  if (last === null || shows(last) || conditions.length === 0) return last !== null && shows(last) ? last : "ended";
  const { decided_by } = await ask("wait", { any_of: [...conditions], since: now.output_cursor, max_wait_ms: 0 });
  return isOneOf(conditions, decided_by) ? present(ask) : "ended";
}

async function present(ask: Ask): Promise<Screen> {
  return new Screen(await ask("screen.get", { format: "styled" }));
}

function isOneOf(conditions: readonly ConditionInput[], decidedBy: string): boolean {
  return conditions.some((each) => (typeof each === "string" ? each : each.type) === decidedBy);
}

function nullIfGone(thrown: unknown): null {
  if (isGone(thrown)) return null;
  throw thrown;
}

/** Waits until a condition, or the program's end, decides. @returns decided by `timeout`: past the deadline */
export async function decided(
  ask: Ask,
  wait: Pick<OperationInput<"wait">, "any_of" | "since" | "command_id">,
  deadline: number,
  race?: Race,
): Promise<OperationOutput<"wait">> {
  for (;;) {
    const left = remaining(deadline);
    const most = race === undefined ? MAX_WAIT_MS : RACE_MS;
    const found = await ask("wait", { ...wait, max_wait_ms: Math.min(left, most) });
    if (found.decided_by !== "timeout" || left <= most || race?.isOver === true) return found;
  }
}

/**
 * The terminal's screens until the deadline or the program's end: the present one, then one after each
 * output. The last is read after the deadline.
 * @param every also screens that were replaced before they could be read, as far as kept
 */
export async function* screens(ask: Ask, deadline: number, every: boolean, race?: Race): AsyncGenerator<Screen> {
  for (let since: number | undefined; ; ) {
    const left = remaining(deadline);
    const { earlier = [], ...shown } = await ask("screen.get", {
      format: "styled",
      each: every,
      wait_ms: Math.min(left, race === undefined ? MAX_WAIT_MS : RACE_MS),
      ...defined({ since }),
    });
    for (const screen of earlier) yield new Screen({ ...shown, ...screen });
    yield new Screen(shown);
    if (left === 0 || shown.state === "exited" || race?.isOver === true) return;
    since = shown.output_cursor;
  }
}

/** Resolves with the first result that is not null; null: all are. Rejects if one fails before. */
export async function firstOf<T>(waits: readonly Promise<T | null>[]): Promise<T | null> {
  const first = Promise.withResolvers<T | null>();
  const all = Promise.all(waits.map((wait) => wait.then((result) => result !== null && first.resolve(result))));
  all.then(
    () => first.resolve(null),
    (thrown) => first.reject(thrown),
  );
  return first.promise;
}

function remaining(deadline: number): number {
  return Math.max(0, deadline - Date.now());
}
