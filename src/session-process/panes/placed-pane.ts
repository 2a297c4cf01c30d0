/** A pane in the session's windows: one that runs here, or a view of another process's pane. Types only. */
import type { AgentInfo } from "../../protocol/agent.ts";
import type { OuterEffect, TerminalColors } from "../../protocol/attach.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import type { Frame, FrameModes } from "../../protocol/frame.ts";
import type { PaneInfo, SessionInfo } from "../../protocol/session.ts";
import type { Size } from "../../protocol/size.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { PictureSource } from "../../terminal/pictures/picture.ts";
import type { RequestContext } from "../../wire/connection.ts";

/** The connection to the process that runs a pane. */
export interface PaneLink {
  /** The pane is this session's own. */
  readonly isGuest: boolean;
  readonly isView: boolean;
  readonly shows: string;
  readonly socket: string;
  /** The session that has it. */
  readonly info: SessionInfo;
  /** Somebody looks at it, or nobody does. */
  watched(on: boolean): void;
  belongsTo(home: { readonly number: number; readonly name: string }): void;
  setPrivate(on: boolean): void;
  request(op: string, input: unknown, context?: RequestContext): Promise<unknown>;
  resolve(through: number): Promise<unknown>;
}

export interface PlacedPane {
  readonly id: string;
  /** It belongs to another session, and is shown here. */
  readonly isView: boolean;
  /** It runs in another process; absent: here. Few sessions have one, so its code is loaded with the first. */
  readonly link?: PaneLink;
  /** Its program has ended, or what shows it is gone. */
  readonly isOver: boolean;
  /** The size that it was given. */
  readonly size: Size;
  /** Whether its picture has that size. */
  readonly isCurrent: boolean;
  /** The newest whole picture; null before the first. */
  readonly frame: Frame | null;
  /** Null without a picture. */
  readonly modes: FrameModes | null;
  readonly title: string;
  /** Null while its program has had none. */
  readonly pictures: PictureSource | null;
  /** In the middle of a synchronized update. */
  readonly isSynchronized: boolean;
  resize(size: Size): void;
  /** A person typed. @param flags modes of its program's terminal, if just read */
  type(bytes: Uint8Array, flags?: PtyFlags | null): void;
  /** Time since something happened in the pane, in ms. */
  idleMs(): number;
  /** The pane as lists show it, without its place. @param asKnown its state and program as of the last check, if any */
  paneInfo(asKnown?: boolean): Omit<PaneInfo, "index" | "active">;
  /** Updates `paneInfo`. */
  refresh(): Promise<void>;
  /** It is in copy mode; not of a view. */
  readonly copyMode?: { readonly isOn: boolean };
  /** Opens copy mode. */
  look(input: CopyModeInput): Promise<void>;
  learnColors(colors: TerminalColors): void;
  /** Starts its program again; not of a view. @throws WshError session_create_failed */
  restart(): Promise<void>;
  /** Ends its program; a view only closes. Resolves when it has ended. */
  endProgram(): Promise<void>;
  /** Removes it from display. */
  close(): void;
}

/** How a pane reports to the windows that have it. */
export interface PlacedPaneEvents {
  /** A new picture is there. Runs per chunk. */
  rendered(): void;
  /** The echo of a key, which the next picture contains. */
  echoed(bytes: Uint8Array): void;
  rang(): void;
  /** Its output has a sequence with an effect besides the screen. */
  effect(effect: OuterEffect): void;
  copied(clipboard: { readonly selection: string; readonly base64: string }): void;
  /** The pane's entry in lists may have changed. */
  listed(): void;
  /** The AI agent in it has changed; null: it is gone. */
  agent(agent: AgentInfo | null): void;
  ended(exit: PaneExit): void;
  /** The process that runs it is gone, or the connection to that. */
  lost(): void;
}

/** How a pane's program ended. */
export interface PaneExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It ended on its own: the pane may be kept. */
  readonly isOwn: boolean;
}
