/** A pane in the session's windows: one that runs here, or a view of another process's pane. Types only. */
import type { AgentInfo } from "../../protocol/agent.ts";
import type { OuterEffect, TerminalColors } from "../../protocol/attach.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import type { ClipboardCopy, Frame, FrameModes } from "../../protocol/frame.ts";
import type { Owner } from "../../protocol/owner.ts";
import type { EventDetails } from "../../protocol/recorded-events.ts";
import type { PaneInfo, SessionInfo } from "../../protocol/session.ts";
import type { Size } from "../../protocol/size.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { PictureSource } from "../../terminal/pictures/picture.ts";
import type { RequestContext } from "../../wire/connection.ts";

/** The connection to the process that runs a pane. */
export interface PaneLink {
  /** Whether it is a pane of this session that another process runs, and not a view. */
  readonly isGuest: boolean;
  readonly isView: boolean;
  readonly target: string;
  readonly socket: string;
  /** Info of the session whose process runs it. */
  readonly info: SessionInfo;
  /** Owner of a guest pane, which may differ from the owner of the session whose process runs it; null: unknown. */
  readonly owner: Owner | null;
  /** Reports whether a person is viewing it. */
  setWatched(isWatched: boolean): void;
  setAdoptedBy(home: { readonly number: number; readonly name: string }): void;
  /** Reports whether its session is private. @param isNew report it even if it is unchanged */
  setPrivate(isPrivate: boolean, isNew?: boolean): void;
  request(op: string, input: unknown, context?: RequestContext): Promise<unknown>;
  resolve(through: number): Promise<unknown>;
}

export interface PlacedPane {
  readonly id: string;
  /** Whether it belongs to another session, and is only shown here. */
  readonly isView: boolean;
  /** Set if it runs in another process. Few sessions have such a pane: the code is loaded with the first. */
  readonly link?: PaneLink;
  /** Whether its program has ended, or the connection that shows it is gone. */
  readonly hasEnded: boolean;
  /** The size set for it. */
  readonly size: Size;
  /** Whether its picture has that size. */
  readonly isCurrent: boolean;
  /** The newest complete picture; null before the first. */
  readonly frame: Frame | null;
  /** Null: there is no picture. */
  readonly modes: FrameModes | null;
  readonly title: string;
  /** Null while its program has no pictures. */
  readonly pictures: PictureSource | null;
  /** Whether it is in the middle of a synchronized update. */
  readonly isSynchronized: boolean;
  resize(size: Size): void;
  /** A person typed. @param flags modes of its program's terminal, if just read */
  type(bytes: Uint8Array, flags?: PtyFlags | null, byAgent?: boolean): void;
  /** Time since the last activity in the pane, in ms. */
  idleMs(): number;
  /**
   * The pane in the form for lists, without its place. @param useCached use its state and program of the last check, if
   * any
   */
  paneInfo(useCached?: boolean): Omit<PaneInfo, "index" | "active">;
  /** Updates `paneInfo`. */
  refresh(): Promise<void>;
  /** Whether it is in copy mode; absent for a view. */
  readonly copyMode?: { readonly isOn: boolean };
  /** Opens copy mode. */
  openCopyMode(input: CopyModeInput): Promise<void>;
  learnColors(colors: TerminalColors): void;
  /** Restarts its program; not for a view. @throws WshError session_create_failed */
  restart(): Promise<void>;
  /** Ends its program; a view only closes. Resolves when it has ended. */
  endProgram(): Promise<void>;
  /** Removes it from display. */
  close(): void;
}

/** Events of a pane for the windows that show it. */
export interface PlacedPaneEvents {
  /** A new picture exists. Runs per chunk. */
  rendered(): void;
  /** The echo of a key, which the next picture contains. */
  echoed(bytes: Uint8Array): void;
  bellRang(): void;
  /** Its output contains a sequence with an effect besides drawing. */
  effect(effect: OuterEffect): void;
  copied(clipboard: ClipboardCopy): void;
  /** The pane's entry in lists may have changed. */
  listingChanged(): void;
  /** The AI agent in it has changed; null: it is gone. */
  agent(agent: AgentInfo | null): void;
  ended(exit: PaneExit): void;
  /** The process that runs it is gone, or the connection to it. */
  processLost(): void;
  /** The process that runs it reports an event for the journal. */
  eventReported(details: EventDetails): void;
}

/** How a pane's program ended. */
export interface PaneExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Whether it ended on its own: the pane may be kept. */
  readonly isOwn: boolean;
}
