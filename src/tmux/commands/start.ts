/**
 * How programs of panes start: command, directory, environment, and what happens at their end. Used by all commands
 * that make a pane.
 */
import { TmuxError } from "../error.ts";
import type { ResolvedTarget, Session } from "../model.ts";
import { optionAt } from "../options/options.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import type { State } from "../state.ts";

/** Parameters of a program, as the operations take them. */
interface Program {
  command: string | null;
  cwd: string;
  env?: Record<string, string>;
  keep_after_exit?: boolean | "failed";
}

/** @param isInWindow whether the pane joins the place's window, so that the window's options apply */
export async function programOf(
  run: Run,
  args: Arguments,
  place: ResolvedTarget | null,
  isInWindow = true,
): Promise<Program> {
  const { state } = await run.load();
  const env = { ...changedEnvironment(state, place?.session.target), ...givenVariables(args) };
  const directory = args.get("c");
  const named = directory === undefined ? "" : await run.format(directory, place ?? {});
  // As in tmux, programs whose directory does not exist start in the home directory.
  const cwd = named === "" ? run.backend.cwd : run.backend.isDirectory(named) ? named : (run.backend.env.HOME ?? "/");
  const keep = keepOf(optionAt(state, place === null || !isInWindow ? {} : { window: place.window }, "remain-on-exit"));
  const fallback = optionAt(state, place ?? {}, "default-command") ?? "";
  const command = args.words.length > 0 ? run.backend.shellText(args.words) : fallback === "" ? null : fallback;
  return {
    command,
    cwd,
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(keep === false ? {} : { keep_after_exit: keep }),
  };
}

/** The first number from `base-index` that no window of the session has. */
export async function freeIndex(run: Run, session: Session): Promise<number> {
  const { state } = await run.load();
  let index = Number(optionAt(state, { session }, "base-index") ?? 0);
  while (session.windows.some((each) => each.index === index)) index++;
  return index;
}

/** wsh's value for `remain-on-exit`. */
export function keepOf(value: string | undefined): boolean | "failed" {
  return value === "on" ? true : value === "failed" ? "failed" : false;
}

/** @throws TmuxError */
export function givenVariables(args: Arguments): Record<string, string> {
  return Object.fromEntries(
    args.all("e").map((each): [string, string] => {
      const equals = each.indexOf("=");
      if (equals < 1) throw new TmuxError(`invalid environment: ${each}`);
      return [each.slice(0, equals), each.slice(equals + 1)];
    }),
  );
}

function changedEnvironment(state: State, session: string | undefined): Record<string, string> {
  const own = session === undefined ? {} : (state.environments[session] ?? {});
  return Object.fromEntries(
    Object.entries({ ...state.environment, ...own }).flatMap(([name, { value, hidden }]): [string, string][] =>
      value === null || hidden ? [] : [[name, value]],
    ),
  );
}

/** Escapes a name as tmux stores it, in C's form: unprintable characters, backslashes, a `$` before a variable's name. */
export function visible(name: string): string {
  const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", $: "\\$" };
  return name.replace(
    /[\\\x00-\x1f\x7f]|\$(?=[A-Za-z_{])/g,
    (char) => escapes[char] ?? `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}

/** A name that wsh accepts; the state keeps the original where they differ. */
export function ownName(shown: string): string {
  const name = shown.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 64);
  return /^\.{0,2}$/.test(name) ? `_${name}` : name;
}

/** A window's name: digits alone would mean its number. */
export function ownWindowName(shown: string): string {
  const name = ownName(shown);
  return /^\d+$/.test(name) ? `_${name}`.slice(0, 64) : name;
}

/** Keeps the given name if wsh has another. */
export async function keepName(run: Run, id: string, own: string, shown: string): Promise<void> {
  const { state } = await run.load();
  if (own === shown && state.names[id] === undefined) return;
  await run.change((changed) => {
    if (own === shown) delete changed.names[id];
    else changed.names[id] = { own, shown };
  });
}

/**
 * Whether a command may move a session's focus. A program's call does not move the focus of people who view
 * the session. A person's key does, and so does a program in the popup that they view.
 */
export function movesFocus({ backend }: Run, { session }: ResolvedTarget): boolean {
  const isInPopup = session.windows.some(({ info }) =>
    info.panes.some(({ id, popup }) => popup === true && id === backend.pane),
  );
  return session.info.attached === 0 || backend.hasTerminal || backend.isByKey === true || isInPopup;
}

/** Whether a new pane gets the focus. */
export function takesFocus(run: Run, args: Arguments, place: ResolvedTarget): boolean {
  return !args.has("d") && movesFocus(run, place);
}
