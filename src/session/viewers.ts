/**
 * The attached terminals, including those in pages, and the size that the session takes from them (docs/protocol.md,
 * Sessions). `latest`: the terminal that last attached, typed or changed its size decides; `smallest`: the session fits
 * into each of them. Read-only terminals never decide. An observing one (a view pane of another session, `--follow`)
 * decides only while no other terminal does. A terminal with a separate active window shares the smallest size of all
 * terminals that show the same window; while it shows another window, that window has its size, and it decides nothing
 * here. A size set by a call holds until a deciding terminal acts. Pure bookkeeping: the session applies the size.
 */

import type { NotificationSupport } from "../protocol/attention.ts";
import type { Acting } from "../protocol/caller.ts";
import type { CopyModeInput } from "../protocol/copy-mode.ts";
import type { ViewerInfo } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";

/** A view that another program opens at a terminal. */
export interface OpenedView {
  readonly view: "windows" | "sessions" | "agents" | "copy_mode" | "go";
  readonly target?: string | undefined;
  /** copy_mode: the action for an open copy mode. */
  readonly act?: CopyModeInput["act"];
}

export type SizePolicy = "latest" | "smallest";

/** The socket of another session. */
export interface SessionAddress {
  readonly socket: string;
  /** Its number. */
  readonly number: number;
  /** Its name. */
  readonly session: string;
}

/** Signs of the person's presence at a terminal. */
export interface ViewerFocus {
  /** Whether a person is at it; for a view in another session, whether a person there has it on the screen. */
  readonly isWatched: boolean;
  /** Whether the person there looks at this pane. */
  looksAt(pane: string): boolean;
  /** Time at which the person was last present while it showed a pane, in ms of performance.now; -Infinity: never. */
  lastSeenAt(pane: string): number;
  /** Time of its last key, in ms since 1970; null: never. */
  readonly lastKey: number | null;
  /** Whether the terminal itself rings for a pane's bell. */
  ringsFor(pane: string): boolean;
}

export interface Viewer {
  readonly id: number;
  readonly size: Size;
  /** Whether it has no influence on the session's size. */
  readonly isFollower: boolean;
  /** Whether it decides the size only while all others are observers as well. */
  readonly isObserver: boolean;
  /** Contents of a terminal with a separate active window that the session does not show now. */
  readonly shownContent: {
    readonly isIndependent?: boolean;
    readonly hasSeparateWindow?: boolean;
    shows(pane: string): boolean;
  };
  /** Name for people of a terminal in a page; null for any other terminal. */
  readonly page: string | null;
  /** Path of the terminal's device, if it is on this machine; else null. */
  readonly device: string | null;
  /** Time at which it attached, in ms since 1970. */
  readonly since: number;
  readonly readOnly: boolean;
  /** The person there, with their rights. */
  readonly acting: Acting;
  /** Called when the session's size has changed. */
  sizeChanged(): void;
  /** The settings have changed: the client reads its settings again. */
  settingsChanged(): void;
  readonly focus: ViewerFocus;
  /** Variables that it brings; null: none. */
  readonly variables: Readonly<Record<string, string>> | null;
  readonly notifications: NotificationSupport;
  /** Sends a bell or notification. @param text bytes for the terminal */
  alert(text: string): void;
  /** The session ends this terminal's stream. */
  end(reason: ViewerEnd): void;
  /** Switches to another session. @throws WshError nested_session when it would show itself */
  switchTo(place: SessionAddress): Promise<void>;
  /** Shows the person a temporary message. */
  showMessage(text: string): void;
  readonly controls: {
    /** Opens a dialog or copy mode there, or another session. @throws WshError */
    open(view: OpenedView): Promise<void>;
    /** Whether it shows a copy mode of its own. */
    readonly isInCopyMode: boolean;
  };
  /** Whether this is a session that shows this one as a view, and composes its pictures. */
  readonly isComposed: boolean;
  /** Sends an event to the session that has the pane as a guest; null: another viewer. */
  readonly report: ((event: object) => void) | null;
  /** Environment for programs started for the person: it locates their agents and screens. */
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
  /** Ids of the terminals that decide the size, in the order in which they last acted, newest last. */
  private actingOrder: number[] = [];
  /** The size that a call has set since a terminal last acted. */
  private imposedSize: Size | null = null;
  /** Unix time in ms at which a terminal or page attached last; null: never. */
  attachedAt: number | null = null;
  /** View for the next terminal, since none was attached. */
  private awaitedView: OpenedView | null = null;

  /**
   * @param onChange called when a terminal attaches, detaches or changes its size; null: whether it is watched has
   * changed
   */
  constructor(
    private readonly settings: { readonly sizePolicy: SizePolicy },
    private readonly onChange: (change: ViewerChange | null) => void,
  ) {}

  get count(): number {
    return this.viewers.size;
  }

  /** Attached terminals that are not read-only: their own elements take rows, and are drawn for no other terminal. */
  get terminalCount(): number {
    return this.all.filter(({ page, readOnly }) => page === null && !readOnly).length;
  }

  /** Viewers in pages, in the form for lists. */
  get pages(): ViewerInfo[] {
    return this.all.flatMap(({ page, readOnly, since }): ViewerInfo[] =>
      page === null ? [] : [{ name: page, access: readOnly ? "observe" : "operate", since }],
    );
  }

  /** Number of terminals at which a person can type. */
  get peopleCount(): number {
    return this.actingOrder.filter((id) => this.viewers.get(id)?.focus.isWatched).length;
  }

  /** Whether a terminal that can type shows a pane. */
  isShown(pane: string): boolean {
    return this.actingOrder.some((id) => {
      const viewer = this.viewers.get(id);
      return viewer?.focus.isWatched === true && viewer.shownContent.shows(pane);
    });
  }

  /** A person has come to a viewer or has left it. */
  noteWatchedChange(): void {
    this.onChange(null);
  }

  /** Shows a message at one terminal, or at each. @returns how many */
  showMessage(message: string, client?: number): number {
    const shown = this.terminalsOfPeople.filter(({ id }) => client === undefined || id === client);
    for (const viewer of shown) viewer.showMessage(message);
    return shown.length;
  }

  /**
   * Opens a view at one terminal, the one in use, or the next one.
   * @returns the terminals that opened it
   * @throws WshError
   */
  async openView(view: OpenedView, client?: number): Promise<number> {
    const terminals = this.terminalsOfPeople;
    const used =
      terminals.find(({ id }) => id === (client ?? this.inUse)) ??
      (client === undefined ? terminals.at(-1) : undefined);
    this.awaitedView =
      used === undefined && client === undefined && view.view !== "go" && view.act === undefined ? view : null;
    await used?.controls.open(view);
    return used === undefined ? 0 : 1;
  }

  private get terminalsOfPeople(): readonly Viewer[] {
    return this.all.filter(({ isComposed, readOnly }) => !isComposed && !readOnly);
  }

  get all(): readonly Viewer[] {
    return [...this.viewers.values()];
  }

  /** The newest viewer's environment, with the person's agents and screens. */
  get environment(): Readonly<Record<string, string>> {
    return this.all.findLast(({ readOnly, isComposed }) => !readOnly && !isComposed)?.environment ?? {};
  }

  add(viewer: Viewer): void {
    this.viewers.set(viewer.id, viewer);
    if (!viewer.isComposed) this.attachedAt = viewer.since;
    this.noteAct(viewer.id);
    this.onChange({ event: "attached", viewer });
    if (this.awaitedView !== null) void this.openView(this.awaitedView).catch(() => {});
  }

  remove(id: number): void {
    const viewer = this.viewers.get(id);
    this.viewers.delete(id);
    this.actingOrder = this.actingOrder.filter((known) => known !== id);
    if (viewer !== undefined) this.onChange({ event: "detached", viewer });
  }

  /** A terminal has changed its size. */
  noteResize(id: number): void {
    this.noteAct(id);
    const viewer = this.viewers.get(id);
    if (viewer !== undefined) this.onChange({ event: "client_resized", viewer });
  }

  /** Id of the terminal in use: the last one that attached, typed or changed its size; null: none did. */
  get inUse(): number | null {
    return this.actingOrder.at(-1) ?? null;
  }

  /** Whether a terminal that decides the size is attached. */
  get hasDeciding(): boolean {
    return this.deciding.length > 0;
  }

  /** A call sets the size. */
  imposeSize(size: Size): void {
    this.imposedSize = size;
  }

  /** A terminal attached, typed or was resized. @returns whether the size may have changed */
  noteAct(id: number): boolean {
    const viewer = this.viewers.get(id);
    if (viewer?.readOnly !== false) return false;
    const wasNewest = this.actingOrder.at(-1) === id;
    if (!wasNewest) this.actingOrder = [...this.actingOrder.filter((known) => known !== id), id];
    const wasImposed = this.imposedSize !== null && this.deciding.includes(viewer);
    if (wasImposed) this.imposedSize = null;
    return wasImposed || !wasNewest;
  }

  /** The terminals that decide the size, in the order in which they last acted. */
  private get deciding(): Viewer[] {
    const candidates = this.actingOrder
      .flatMap((id) => this.viewers.get(id) ?? [])
      .filter(({ isFollower, shownContent }) => !isFollower && shownContent.hasSeparateWindow !== true);
    const participants = candidates.filter(({ isObserver }) => !isObserver);
    return participants.length === 0 ? candidates : participants;
  }

  /** The size that a call or the deciding terminals request; null: none, and the session keeps its size. */
  size(): Size | null {
    if (this.imposedSize !== null) return this.imposedSize;
    const { deciding } = this;
    const isIndependent = ({ shownContent }: Viewer): boolean => shownContent.isIndependent === true;
    const shared = deciding.filter((viewer) => !isIndependent(viewer));
    const counted = this.settings.sizePolicy === "latest" ? shared.slice(-1) : shared;
    return smallestSize([...counted, ...deciding.filter(isIndependent)].map(({ size }) => size));
  }
}

/** The largest size that fits into each; null: there are none. */
export function smallestSize(sizes: readonly Size[]): Size | null {
  if (sizes.length === 0) return null;
  return { rows: Math.min(...sizes.map(({ rows }) => rows)), cols: Math.min(...sizes.map(({ cols }) => cols)) };
}
