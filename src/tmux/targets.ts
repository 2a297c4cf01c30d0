/**
 * Resolves targets of `-t`: `=name`, `$3`, `@5`, `%7`, `session:window.pane`, `{last}`, `:+`, as tmux 3.3a does. Pure.
 */
import { TmuxError } from "./error.ts";
import { fnmatch } from "./formats/pattern.ts";
import { type Model, type Pane, placeOf, type ResolvedTarget, type Session, type Window } from "./model.ts";

export type TargetKind = "session" | "window" | "pane";

const windowWords: Readonly<Record<string, string>> = {
  "{start}": "^",
  "{last}": "!",
  "{end}": "$",
  "{next}": "+",
  "{previous}": "-",
};
const paneWords: Readonly<Record<string, string>> = {
  "{last}": "!",
  "{next}": "+",
  "{previous}": "-",
  "{top}": "top",
  "{bottom}": "bottom",
  "{left}": "left",
  "{right}": "right",
  "{top-left}": "top-left",
  "{top-right}": "top-right",
  "{bottom-left}": "bottom-left",
  "{bottom-right}": "bottom-right",
};

/** Replaces a word in braces by its target; any other text is returned unchanged. */
function inBraces(words: Readonly<Record<string, string>>, text: string): string {
  return text.startsWith("{") ? (words[text] ?? text) : text;
}

/** The session, window and pane parts of a written target. */
interface WrittenTarget {
  readonly session: string;
  readonly window: string;
  readonly pane: string;
  /** Set for a target that starts with `:`; its name does not name a session. */
  readonly isWindowOnly: boolean;
  readonly isPaneOnly: boolean;
}

const NO_TARGET = "no current target";

export class Targets {
  constructor(
    private readonly model: Model,
    /** The place of a command without a target; null: there is none. */
    readonly current: ResolvedTarget | null,
    private readonly marked: ResolvedTarget | null,
  ) {}

  /** @throws TmuxError `can't find pane: x` */
  find(target: string | undefined, kind: TargetKind): ResolvedTarget {
    this.requireSessions(target);
    if (target === undefined || target === "") return this.currentPlace;
    if (target === "=" || target === "{mouse}") throw new TmuxError("no mouse target");
    if (target === "~" || target === "{marked}") {
      if (this.marked === null) throw new TmuxError("no marked target");
      return this.marked;
    }
    return this.written(readTarget(target, kind));
  }

  /** The place of a window index: its session, and its number if given and free. */
  findIndex(target: string | undefined): {
    readonly session: Session;
    readonly index: number | null;
    readonly window: Window | null;
  } {
    this.requireSessions(target);
    if (target === undefined || target === "") return { session: this.currentPlace.session, index: null, window: null };
    const written = readTarget(target, "window");
    if (written.pane !== "") throw new TmuxError("can't specify pane here");
    if (written.session !== "" && written.window === "") {
      return { session: this.session(written.session), index: null, window: null };
    }
    const session = written.session === "" ? this.currentPlace.session : this.session(written.session);
    const { name } = exactness(written.window);
    const offset = /^([+-])(\d*)$/.exec(name);
    if (offset !== null) {
      const step = Number(offset[2] || "1") * (offset[1] === "+" ? 1 : -1);
      const index = session.current.index + step;
      if (index < 0) throw new TmuxError(`can't find window: ${name}`);
      return { session, index, window: session.windows.find((each) => each.index === index) ?? null };
    }
    if (/^\d+$/.test(name)) {
      const index = Number(name);
      return { session, index, window: session.windows.find((each) => each.index === index) ?? null };
    }
    const match = windowIn(session, written.window);
    if (match !== null) return { session, index: match.index, window: match };
    const otherSession = written.isWindowOnly ? null : this.sessionOrNull(written.window);
    if (otherSession !== null) return { session: otherSession, index: null, window: null };
    throw new TmuxError(`can't find window: ${name}`);
  }

  /** @throws TmuxError */
  private requireSessions(target: string | undefined): void {
    if (this.model.sessions.length > 0) return;
    throw new TmuxError(
      target === undefined ? NO_TARGET : `can't find session: ${exactness(target.replace(/:.*/, "")).name}`,
    );
  }

  /** @throws TmuxError */
  private get currentPlace(): ResolvedTarget {
    if (this.current === null) throw new TmuxError(NO_TARGET);
    return this.current;
  }

  private written({ session, window, pane, isWindowOnly, isPaneOnly }: WrittenTarget): ResolvedTarget {
    if (session !== "") {
      const owner = this.session(session);
      const inside = window === "" ? owner.current : windowIn(owner, window);
      if (inside === null) throw new TmuxError(`can't find window: ${exactness(window).name}`);
      return pane === "" ? placeOf(owner, inside) : this.paneOf(owner, inside, pane);
    }
    if (window !== "") {
      const match = this.window(window, isWindowOnly);
      return pane === "" ? match : this.paneOf(match.session, match.window, pane);
    }
    if (pane === "") return this.currentPlace;
    if (pane.startsWith("%")) {
      const byId = this.model.places.find((place) => place.pane.id === pane);
      if (byId === undefined) throw new TmuxError(`can't find pane: ${pane}`);
      return byId;
    }
    const { currentPlace } = this;
    const besides = paneIn(currentPlace.window, pane, currentPlace);
    if (besides !== null) return { ...currentPlace, pane: besides };
    const otherWindow = isPaneOnly ? null : this.windowOrNull(pane, false);
    if (otherWindow === null) throw new TmuxError(`can't find pane: ${inBraces(paneWords, pane)}`);
    return otherWindow;
  }

  private paneOf(session: Session, window: Window, pane: string): ResolvedTarget {
    const match = paneIn(window, pane, this.current);
    if (match === null) throw new TmuxError(`can't find pane: ${inBraces(paneWords, pane)}`);
    return { session, window, pane: match };
  }

  private window(name: string, isOnly: boolean): ResolvedTarget {
    const match = this.windowOrNull(name, isOnly);
    if (match === null) throw new TmuxError(`can't find window: ${exactness(inBraces(windowWords, name)).name}`);
    return match;
  }

  private windowOrNull(name: string, isOnly: boolean): ResolvedTarget | null {
    if (name.startsWith("@")) {
      for (const session of this.model.sessions) {
        const window = session.windows.find(({ id }) => id === name);
        if (window !== undefined) return placeOf(session, window);
      }
      return null;
    }
    const window = this.current === null ? null : windowIn(this.current.session, name);
    if (window !== null && this.current !== null) return placeOf(this.current.session, window);
    const session = isOnly ? null : this.sessionOrNull(name);
    return session === null ? null : placeOf(session);
  }

  private session(name: string): Session {
    const match = this.sessionOrNull(name);
    if (match === null) throw new TmuxError(`can't find session: ${exactness(name).name}`);
    return match;
  }

  private sessionOrNull(written: string): Session | null {
    const { name, isExact } = exactness(written);
    const { sessions } = this.model;
    if (name.startsWith("$")) return sessions.find(({ id }) => id === name) ?? null;
    const exact = sessions.find((session) => session.name === name);
    if (exact !== undefined || isExact) return exact ?? null;
    return onlyOne(
      sessions,
      (each) => each.name.startsWith(name),
      (each) => fnmatch(name, each.name),
    );
  }
}

function exactness(name: string): { readonly name: string; readonly isExact: boolean } {
  return name.startsWith("=") ? { name: name.slice(1), isExact: true } : { name, isExact: false };
}

function readTarget(target: string, kind: TargetKind): WrittenTarget {
  const colon = target.indexOf(":");
  const rest = colon === -1 ? target : target.slice(colon + 1);
  const period = rest.indexOf(".");
  const before = period === -1 ? rest : rest.slice(0, period);
  const pane = period === -1 ? "" : rest.slice(period + 1);
  const base = { isWindowOnly: colon !== -1, isPaneOnly: period !== -1, session: "", window: "", pane: "" };
  const withoutBraces = (written: WrittenTarget): WrittenTarget => ({
    ...written,
    window: inBraces(windowWords, written.window),
    pane: written.pane,
  });
  if (colon !== -1) return withoutBraces({ ...base, session: target.slice(0, colon), window: before, pane });
  if (period !== -1) return withoutBraces({ ...base, window: before, pane });
  const field: TargetKind = before.startsWith("$")
    ? "session"
    : before.startsWith("@")
      ? "window"
      : before.startsWith("%")
        ? "pane"
        : kind;
  return withoutBraces({ ...base, [field]: before });
}

function windowIn(session: Session, written: string): Window | null {
  const { name, isExact } = exactness(written);
  const { windows, current } = session;
  if (name.startsWith("@")) return windows.find(({ id }) => id === name) ?? null;
  if (!isExact) {
    const [, sign, digits] = /^([+-])(\d*)$/.exec(name) ?? [];
    if (sign !== undefined) return stepFrom(windows, current, Number(digits || "1") * (sign === "+" ? 1 : -1));
    if (name === "!") return windows.find((window) => window.info.last === true) ?? null;
    if (name === "^") return windows[0] ?? null;
    if (name === "$") return windows.at(-1) ?? null;
  }
  const numbered = /^\d+$/.test(name) ? windows.find(({ index }) => index === Number(name)) : undefined;
  if (numbered !== undefined) return numbered;
  const exact = windows.filter((window) => window.name === name);
  if (exact.length > 0) return exact.length === 1 ? (exact[0] ?? null) : null;
  if (isExact) return null;
  return onlyOne(
    windows,
    (each) => each.name.startsWith(name),
    (each) => fnmatch(name, each.name),
  );
}

/** The only match of one test, or else of the next; null for none or several. */
function onlyOne<T>(all: readonly T[], ...tests: readonly ((each: T) => boolean)[]): T | null {
  for (const test of tests) {
    const matches = all.filter(test);
    if (matches.length > 0) return matches.length === 1 ? (matches[0] ?? null) : null;
  }
  return null;
}

/** The element some positions further, cyclically. */
export function stepFrom<T>(all: readonly T[], from: T, step: number): T | null {
  const at = all.indexOf(from);
  if (at === -1 || all.length === 0) return null;
  return all[(((at + step) % all.length) + all.length) % all.length] ?? null;
}

function paneIn(window: Window, written: string, current: ResolvedTarget | null): Pane | null {
  const name = inBraces(paneWords, written);
  const { panes } = window;
  if (name.startsWith("%")) return panes.find(({ id }) => id === name) ?? null;
  if (name === "!") return panes.find((pane) => pane.info.last === true) ?? null;
  const [, side] = /^\{(up|down|left|right)-of\}$/.exec(name) ?? [];
  if (side !== undefined) return current === null ? null : neighbour(current.window, current.pane, side);
  const [, sign, digits] = /^([+-])(\d*)$/.exec(name) ?? [];
  if (sign !== undefined) {
    const from = current !== null && panes.includes(current.pane) ? current.pane : window.active;
    return stepFrom(panes, from, Number(digits || "1") * (sign === "+" ? 1 : -1));
  }
  const numbered = /^\d+$/.test(name) ? panes.find(({ index }) => index === Number(name)) : undefined;
  return numbered ?? cornerPane(window, name);
}

interface Box {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

export function boxOf({ info }: Pane): Box {
  const { row = 0, col = 0, rows, cols } = info;
  return { top: row, left: col, bottom: row + rows - 1, right: col + cols - 1 };
}

function cornerPane(window: Window, name: string): Pane | null {
  const [last, middle] = [
    { y: window.info.rows - 1, x: window.info.cols - 1 },
    { y: Math.floor(window.info.rows / 2), x: Math.floor(window.info.cols / 2) },
  ];
  const points: Readonly<Record<string, readonly [number, number]>> = {
    top: [0, middle.x],
    bottom: [last.y, middle.x],
    left: [middle.y, 0],
    right: [middle.y, last.x],
    "top-left": [0, 0],
    "top-right": [0, last.x],
    "bottom-left": [last.y, 0],
    "bottom-right": [last.y, last.x],
  };
  const point = Object.hasOwn(points, name) ? points[name] : undefined;
  if (point === undefined) return null;
  const [y, x] = point;
  return (
    window.panes.find((pane) => {
      const { top, bottom, left, right } = boxOf(pane);
      return pane.info.hidden !== true && y >= top && y <= bottom + 1 && x >= left && x <= right + 1;
    }) ?? null
  );
}

/** The pane beside another one; like tmux, wraps around at the window's edge. */
export function neighbour(window: Window, pane: Pane, side: string): Pane | null {
  const own = boxOf(pane);
  const { rows, cols } = window.info;
  const isUpright = side === "up" || side === "down";
  const edge = { up: own.top === 0 ? rows : own.top - 1, down: own.bottom + 1 >= rows ? 0 : own.bottom + 2 };
  const wide = { left: own.left === 0 ? cols : own.left - 1, right: own.right + 1 >= cols ? 0 : own.right + 2 };
  const neighbours = window.panes.filter((each) => {
    if (each === pane || each.info.hidden === true) return false;
    const box = boxOf(each);
    const touches = isUpright
      ? side === "up"
        ? box.bottom + 1 === edge.up
        : box.top === edge.down
      : side === "left"
        ? box.right + 1 === wide.left
        : box.left === wide.right;
    const overlaps = isUpright
      ? box.left <= own.right + 1 && box.right + 1 >= own.left
      : box.top <= own.bottom + 1 && box.bottom + 1 >= own.top;
    return touches && overlaps;
  });
  return neighbours.find((each) => each.info.active) ?? neighbours[0] ?? null;
}
