/**
 * Resolves the text after a session's name to a window: `1`, `logs`, `logs.1`. Pure.
 *
 * Invariants: a text that matches several windows is refused. An index takes precedence over a name, a name set by a
 * user over one from a window's program. A name may contain a dot, so `logs.1` is either pane 1 of `logs` or the window
 * `logs.1`: if both windows exist, it is refused.
 */
import { WshError } from "./errors.ts";
import { formatTarget, type Target } from "./names.ts";

interface Addressed {
  readonly index: number;
  /** Name set by a user; null: the name of its program. */
  readonly name: string | null;
}

interface MeantWindow<W> {
  readonly window: W;
  /** Index of the pane in it; absent: the active pane. */
  readonly pane?: number;
}

type InSession = Extract<Target, { kind: "session" }>;

/**
 * @param about returns a window's name from its program, and its id
 * @returns undefined: there is no such window
 * @throws WshError invalid_request when several match
 */
export function meantWindow<W extends Addressed>(
  windows: readonly W[],
  target: InSession,
  about: { automatic(window: W): string; id(window: W): string },
): MeantWindow<W> | undefined {
  const { window: wanted = "", pane } = target;
  const parts = fitting(windows, wanted, about.automatic);
  const whole = pane === undefined ? [] : fitting(windows, `${wanted}.${pane}`, about.automatic);
  const all = [...new Set([...parts, ...whole])];
  const [window] = all;
  if (window === undefined) return undefined;
  if (all.length > 1) throw ambiguous(target, all.map(about.id));
  return parts.length === 0 || pane === undefined ? { window } : { window, pane };
}

function fitting<W extends Addressed>(
  windows: readonly W[],
  wanted: string,
  automatic: (window: W) => string,
): readonly W[] {
  const numbered = windows.filter(({ index }) => String(index) === wanted);
  if (numbered.length > 0) return numbered;
  const chosen = windows.filter(({ name }) => name === wanted);
  return chosen.length > 0 ? chosen : windows.filter((window) => window.name === null && automatic(window) === wanted);
}

function ambiguous(target: InSession, ids: readonly string[]): WshError {
  return new WshError("invalid_request", `'${formatTarget(target)}' is ambiguous: it fits windows ${ids.join(", ")}`, {
    hint: `Name the window by its id, one of ${ids.join(", ")}, or a pane by its own.`,
  });
}
