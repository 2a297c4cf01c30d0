/**
 * The sessions of an instance with tmux's ids `$3`, `@5`, `%7`, in tmux's order. An immutable value, made for each
 * command.
 */
import type { PaneInfo, SessionInfo, WindowInfo } from "../protocol/session.ts";
import type { SessionList } from "./backend.ts";
import type { State } from "./state.ts";

export interface Session {
  readonly id: string;
  readonly name: string;
  /** `@s3` */
  readonly target: string;
  readonly info: SessionInfo;
  readonly windows: readonly Window[];
  readonly current: Window;
}

export interface Window {
  readonly id: string;
  readonly name: string;
  readonly index: number;
  /** `@w5` */
  readonly target: string;
  readonly info: WindowInfo;
  readonly panes: readonly Pane[];
  readonly active: Pane;
}

export interface Pane {
  readonly id: string;
  readonly index: number;
  /** `@7` */
  readonly target: string;
  readonly info: PaneInfo;
}

/** The session, window and pane of a target. */
export interface ResolvedTarget {
  readonly session: Session;
  readonly window: Window;
  readonly pane: Pane;
}

export class Model {
  /** By name, as tmux lists them. */
  readonly sessions: readonly Session[];

  constructor(
    private readonly list: SessionList,
    state: State,
  ) {
    this.sessions = list.infos
      .flatMap((info) => sessionOf(info, state) ?? [])
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  }

  /** Every pane with its place. */
  get places(): readonly ResolvedTarget[] {
    return this.sessions.flatMap((session) =>
      session.windows.flatMap((window) => window.panes.map((pane) => ({ session, window, pane }))),
    );
  }

  findPane(target: string): ResolvedTarget | undefined {
    return this.places.find(({ pane }) => pane.target === target) ?? this.placeUnderPopup(target);
  }

  /** A popup is in no window of the model: the window below it is the target of its commands. */
  private placeUnderPopup(target: string): ResolvedTarget | undefined {
    const all = this.sessions.flatMap((session) => session.windows.map((window) => placeOf(session, window)));
    return all.find(({ window }) => window.info.panes.some(({ id, popup }) => popup === true && id === target));
  }

  /** Whether the model holds all sessions. */
  get isComplete(): boolean {
    return this.list.isComplete;
  }

  /** wsh's ids of everything that exists; null: unknown. */
  get livingTargets(): ReadonlySet<string> | null {
    if (!this.isComplete || this.sessions.length === 0) return null;
    return new Set(this.places.flatMap(({ session, window, pane }) => [session.target, window.target, pane.target]));
  }
}

/** The one of its panes that has been in it longest. */
export function oldestPane({ windows, current, info }: Session): Pane {
  const all = windows.flatMap(({ panes }) => panes);
  return all.find(({ target }) => target === info.pane_id) ?? current.active;
}

export function placeOf(session: Session, window = session.current, pane = window.active): ResolvedTarget {
  return { session, window, pane };
}

function sessionOf(info: SessionInfo, state: State): Session | null {
  const windows = info.windows.flatMap((window) => windowOf(window, state) ?? []);
  const current = windows.find((window) => window.info.active) ?? windows[0];
  if (current === undefined) return null;
  const name = shownName(state, info.id, info.name);
  return { id: info.id.replace(/^@s?/, "$"), name, target: info.id, info, windows, current };
}

function windowOf(info: WindowInfo, state: State): Window | null {
  const own = info.panes.filter(({ popup }) => popup !== true);
  const panes = own.map(
    (pane): Pane => ({
      id: (state.panes[pane.id] ?? pane.id).replace("@", "%"),
      index: pane.index,
      target: pane.id,
      info: pane,
    }),
  );
  const active = panes.find((pane) => pane.info.active) ?? panes.find((pane) => pane.info.last) ?? panes[0];
  if (active === undefined) return null;
  const name = shownName(state, info.id, info.name);
  const id = (state.panes[info.id] ?? info.id).replace("@w", "@");
  return { id, name, index: info.index, target: info.id, info, panes, active };
}

function shownName(state: State, id: string, name: string): string {
  const storedName = state.names[id];
  return storedName?.own === name ? storedName.shown : name;
}
