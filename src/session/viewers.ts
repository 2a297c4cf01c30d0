/**
 * The attached terminals, including those in pages, and the size that the session takes from them (docs/protocol.md,
 * Sessions). `latest`: the terminal that last attached, typed or changed its size decides; `smallest`: the session fits
 * into each of them. Read-only terminals never decide. An observing one (a view pane of another session, `--follow`)
 * decides only while no other terminal does. A terminal with a separate active window shares the smallest size of all
 * terminals that show the same window; while it shows another window, that window has its size, and it decides nothing
 * here. A size set through an API holds until a deciding terminal acts. Pure bookkeeping: the session applies the size.
 */

import type { AlertMode } from "../protocol/attention.ts";
import type { CopyModeInput } from "../protocol/copy-mode.ts";
import type { Size } from "../protocol/size.ts";

/** What another program's call opens at a terminal. */
export interface OpenedView {
  readonly view: "windows" | "sessions" | "agents" | "copy_mode" | "go";
  readonly target?: string | undefined;
  /** copy_mode: what copy mode, which is on there, does. */
  readonly act?: CopyModeInput["act"];
}

export type SizePolicy = "latest" | "smallest";

/** Where another session is served. */
export interface SessionPlace {
  readonly socket: string;
  /** Its number. */
  readonly number: number;
  /** Its name. */
  readonly session: string;
}

/** Indications of the person's presence at a terminal. */
export interface ViewerFocus {
  /** Whether a person is at it; for a view in another session, whether a person there has it on the screen. */
  readonly isWatched: boolean;
  /** Whether the person there looks at this pane. */
  looksAt(pane: string): boolean;
  /** When the person was last there while it showed a pane, in ms of performance.now; -Infinity: never. */
  seen(pane: string): number;
  /** When something was typed there last, in ms since 1970; null: never. */
  readonly lastKey: number | null;
  /** Whether the terminal itself rings for a pane's bell. */
  rings(pane: string): boolean;
}

export interface Viewer {
  readonly id: number;
  readonly size: Size;
  /** Takes no part in the session's size. */
  readonly follows: boolean;
  /** Decides the size only while all others are observers as well. */
  readonly observes: boolean;
  /** Contents of a terminal with a separate active window; the session does not show that window now. */
  readonly shown: { readonly isIndependent?: boolean; readonly isApart?: boolean; shows(pane: string): boolean };
  /** Name for people of a terminal in a page; null for any other terminal. */
  readonly page: string | null;
  /** Path of the terminal's device, where it is on this machine; else null. */
  readonly device: string | null;
  /** When it came, in ms since 1970. */
  readonly since: number;
  readonly readOnly: boolean;
  /** Told when the session's size has changed. */
  sizeChanged(): void;
  /** The settings have changed: the client reads its own again. */
  settingsChanged(): void;
  readonly focus: ViewerFocus;
  /** Variables that it brings; null: it brings nothing. */
  readonly brought: Readonly<Record<string, string>> | null;
  /** How it shows a notification. */
  readonly notifies: AlertMode;
  /** Rings or notifies there. @param text bytes for the terminal */
  alert(text: string): void;
  /** The session ends this terminal's stream. */
  end(reason: ViewerEnd): void;
  /** Switches to another session. @throws WshError nested_session when it would show itself */
  go(place: SessionPlace): Promise<void>;
  /** Shows the person a temporary message. */
  say(text: string): void;
  readonly own: {
    /** Opens a dialog or copy mode there, or another session. @throws WshError */
    open(view: OpenedView): Promise<void>;
    /** It shows copy mode of its own. */
    readonly isInCopyMode: boolean;
  };
  /** A session that has this one as a view, and composes its pictures. */
  readonly composed: boolean;
  /** Locates the person's agents and screens for programs that are started for them. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ViewerChange {
  readonly event: "attached" | "detached" | "client_resized";
  readonly viewer: Viewer;
}

export type ViewerEnd =
  | { readonly reason: "detached" }
  | { readonly reason: "killed" | "server_stopped" }
  | { readonly reason: "exited"; readonly exit_code: number | null; readonly signal: string | null };

export class Viewers {
  private readonly viewers = new Map<number, Viewer>();
  /** Ids of the terminals that decide, in the order in which they last acted, newest last. */
  private order: number[] = [];
  /** The size that an API has set since a terminal last acted. */
  private imposed: Size | null = null;
  /** Opened by the next terminal, as none was attached. */
  private awaited: OpenedView | null = null;

  /** @param changed called when a terminal attaches, detaches or has another size; null: it is watched or no longer */
  constructor(
    private readonly settings: { readonly sizePolicy: SizePolicy },
    private readonly changed: (change: ViewerChange | null) => void = () => {},
  ) {}

  get count(): number {
    return this.viewers.size;
  }

  /** Attached terminals that are not read-only: their own elements take rows, and are drawn for no other terminal. */
  get terminals(): number {
    return this.all.filter(({ page, readOnly }) => page === null && !readOnly).length;
  }

  /** Those in pages, as lists show them. */
  get pages(): { readonly name: string; readonly access: "observe" | "operate"; readonly since: number }[] {
    return this.all.flatMap(({ page, readOnly, since }) => {
      return page === null
        ? []
        : [{ name: page, access: readOnly ? ("observe" as const) : ("operate" as const), since }];
    });
  }

  /** Terminals at which a person can type. */
  get people(): number {
    return this.order.filter((id) => this.viewers.get(id)?.focus.isWatched).length;
  }

  /** Whether a pane is shown at a terminal that can type. */
  show(pane: string): boolean {
    return this.order.some((id) => {
      const viewer = this.viewers.get(id);
      return viewer?.focus.isWatched === true && viewer.shown.shows(pane);
    });
  }

  /** A person has come to a viewer or left it. */
  watchedChanged(): void {
    this.changed(null);
  }

  /** Shows a message at one terminal, or at each. @returns how many */
  say(message: string, client?: number): number {
    const shown = this.terminalsOfPeople.filter(({ id }) => client === undefined || id === client);
    for (const viewer of shown) viewer.say(message);
    return shown.length;
  }

  /** Opens a view at one terminal, that in use, or the next one. @returns terminals that did @throws WshError */
  async open(view: OpenedView, client?: number): Promise<number> {
    const terminals = this.terminalsOfPeople;
    const used =
      terminals.find(({ id }) => id === (client ?? this.inUse)) ??
      (client === undefined ? terminals.at(-1) : undefined);
    this.awaited =
      used === undefined && client === undefined && view.view !== "go" && view.act === undefined ? view : null;
    await used?.own.open(view);
    return used === undefined ? 0 : 1;
  }

  private get terminalsOfPeople(): readonly Viewer[] {
    return this.all.filter(({ composed, readOnly }) => !composed && !readOnly);
  }

  get all(): readonly Viewer[] {
    return [...this.viewers.values()];
  }

  /** The newest viewer's environment, with the person's agent and screen. */
  get environment(): Readonly<Record<string, string>> {
    return this.all.findLast(({ readOnly, composed }) => !readOnly && !composed)?.environment ?? {};
  }

  add(viewer: Viewer): void {
    this.viewers.set(viewer.id, viewer);
    this.acted(viewer.id);
    this.changed({ event: "attached", viewer });
    if (this.awaited !== null) void this.open(this.awaited).catch(() => {});
  }

  remove(id: number): void {
    const viewer = this.viewers.get(id);
    this.viewers.delete(id);
    this.order = this.order.filter((known) => known !== id);
    if (viewer !== undefined) this.changed({ event: "detached", viewer });
  }

  /** A terminal has another size. */
  resized(id: number): void {
    this.acted(id);
    const viewer = this.viewers.get(id);
    if (viewer !== undefined) this.changed({ event: "client_resized", viewer });
  }

  /** Id of the terminal in use: the one that attached, typed or changed its size last; null when none did. */
  get inUse(): number | null {
    return this.order.at(-1) ?? null;
  }

  /** Whether a terminal that decides the size is attached. */
  get decide(): boolean {
    return this.deciding.length > 0;
  }

  /** An API sets the size. */
  impose(size: Size): void {
    this.imposed = size;
  }

  /** A terminal attached, typed or was resized. @returns whether the size may have changed */
  acted(id: number): boolean {
    const viewer = this.viewers.get(id);
    if (viewer?.readOnly !== false) return false;
    const wasNewest = this.order.at(-1) === id;
    if (!wasNewest) this.order = [...this.order.filter((known) => known !== id), id];
    const wasImposed = this.imposed !== null && this.deciding.includes(viewer);
    if (wasImposed) this.imposed = null;
    return wasImposed || !wasNewest;
  }

  /** The terminals that decide the size, in the order in which they last acted. */
  private get deciding(): Viewer[] {
    const asked = this.order
      .flatMap((id) => this.viewers.get(id) ?? [])
      .filter(({ follows, shown }) => !follows && shown.isApart !== true);
    const own = asked.filter(({ observes }) => !observes);
    return own.length === 0 ? asked : own;
  }

  /** The size requested last; null when none was requested and the session keeps its size. */
  size(): Size | null {
    if (this.imposed !== null) return this.imposed;
    const asked = this.deciding;
    const isOwn = ({ shown }: Viewer): boolean => shown.isIndependent === true;
    const shared = asked.filter((viewer) => !isOwn(viewer));
    const counted = this.settings.sizePolicy === "latest" ? shared.slice(-1) : shared;
    return smallest([...counted, ...asked.filter(isOwn)].map(({ size }) => size));
  }
}

/** The largest size that fits into each; null for none. */
export function smallest(sizes: readonly Size[]): Size | null {
  if (sizes.length === 0) return null;
  return { rows: Math.min(...sizes.map(({ rows }) => rows)), cols: Math.min(...sizes.map(({ cols }) => cols)) };
}
