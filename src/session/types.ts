/**
 * The options and events of a session, and its dependencies on its panes and the registry: types that its parts and its
 * process share. Types only.
 */

import type { Clock } from "../base/clock.ts";
import type { Emitter } from "../base/emitter.ts";
import type { ThemedSpan } from "../compositor/compose.ts";
import type { BufferFiles } from "../instance/buffer-files.ts";
import type { StateLasting } from "../pane/state/state-lifetime.ts";
import type { PanelPosition } from "../protocol/drawing.ts";
import type { ElementLimits } from "../protocol/drawing-limits.ts";
import type { WshError } from "../protocol/errors.ts";
import type { Hook } from "../protocol/hooks.ts";
import type { LayoutEvent } from "../protocol/layout-events.ts";
import type { Owner } from "../protocol/owner.ts";
import type { SecretPrompt } from "../protocol/secret.ts";
import type { CrashInfo, EndReason, PaneInfo, SessionEnding, SessionState, WindowInfo } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { Worktree } from "../protocol/worktree.ts";
import type { PtyExit, PtyFlags } from "../pty/port.ts";
import type { InputMode, TypedKey } from "./keyboard.ts";
import type { QuestionChange } from "./questions/change.ts";
import type { SizePolicy, ViewerChange } from "./viewers.ts";

export interface SessionSettings {
  /** Time for which an ended session stays readable, in ms. */
  readonly graceMs: number;
  /** The same if the caller that started the program has stopped waiting, in ms. */
  readonly execGraceMs: number;
  readonly sizePolicy: SizePolicy;
  readonly elements: ElementLimits;
}

export interface SessionOptions extends Size {
  /** The number of the session and of its window. */
  readonly id: number;
  readonly windowId: number;
  readonly name: string;
  readonly tags: readonly string[];
  /** Whether nothing of the session is stored on disk. */
  readonly private?: boolean | undefined;
  readonly server: string;
  /** Paste buffers that all sessions share; absent: the session has its own. */
  readonly buffers?: BufferFiles;
  readonly settings: SessionSettings;
  /** Variables given to its pane's program in addition to the starter's, without secrets. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Unix time in ms of the session's creation, if another process created it. */
  readonly createdAt?: number;
  /** Its owner; absent: unknown, in a checkpoint of an earlier version. */
  readonly owner?: Owner | undefined;
  readonly worktree?: Worktree | undefined;
  /** The time without use after which it ends, such as `12h`. */
  readonly idleLimit?: string | undefined;
  /** Hooks given at its creation. */
  readonly hooks?: readonly Hook[] | undefined;
  /** Whether a notice of a question in it reaches a person who is elsewhere. */
  readonly isNoticed?: () => boolean;
  /** Whether the owning session decides its size, instead of viewers. */
  readonly isSized?: boolean;
  /** Set if its process crashed and this one shows its contents. */
  readonly crashed?: CrashInfo;
  readonly clock?: Clock;
}

/** Events of a pane for its session. */
interface ShownPaneEvents {
  /** The program entered or left its alternate screen. */
  alternate: boolean;
  /** The program has ended and its last output was parsed. */
  exited: PtyExit;
  /** The caller that started the program has stopped waiting for it. */
  abandoned: undefined;
}

/** The element at a cell of the status line. */
export type StatusTarget =
  | { readonly kind: "session" | "agents" | "line" }
  | { readonly kind: "window"; readonly index: number; readonly active: boolean };

/** The status line, composed for each terminal: one row at the edge of its screen. */
export interface StatusLine {
  readonly position: PanelPosition;
  /** @param seen the window and pane that a terminal with its own focus shows; null: the session's active ones */
  text(cols: number, seen: SeenPane | null): StatusText;
  /** Whether an event occurred in a hidden window. */
  isMarked(window: string): boolean;
}

interface SeenPane {
  readonly window: string;
  readonly pane: string;
}

/** A line, and the segment of each column. */
export interface StatusText {
  readonly spans: readonly ThemedSpan[];
  targetAt(col: number): StatusTarget;
}

/** The recipient of a person's input. */
export interface TypedInput {
  /** Id of the pane. */
  readonly id: string;
  readonly activity: { record(): void };
  /** Modes that the program has set on its terminal; null: unknown. */
  flags(): PtyFlags | null;
  /**
   * Keys of an attached terminal.
   * @param flags the program's modes at that time
   * @param byAgent it is an AI agent's terminal
   */
  typed(bytes: Uint8Array, flags: PtyFlags | null, byAgent?: boolean): void;
}

/**
 * A session's interface to a pane that it shows. It refers to panes and owns none: a pane may run in another process.
 */
export interface PaneRef extends TypedInput {
  readonly pid: number | null;
  readonly command: string;
  /** Null while the program runs. */
  readonly exit: PtyExit | null;
  readonly events: {
    on<K extends keyof ShownPaneEvents>(name: K, listener: (value: ShownPaneEvents[K]) => void): () => void;
  };
  readonly activity: { record(): void; idleMs(): number };
  readonly silence: { dispose(reason: WshError): void };
  readonly lifetime: {
    readonly isHangingUp: boolean;
    /** Wall time in ms until which the ended program's result is kept; null while it runs. */
    readableUntil: number | null;
    restart(): Promise<void>;
    end(reason?: EndReason): Promise<void>;
    noteEndReported(): void;
  };
  info(state?: SessionState): Omit<PaneInfo, "index" | "active">;
  /** The windows, if it represents several panes. */
  windows?(): WindowInfo[];
  state(): SessionState;
  stateLasting(): { readonly state: SessionState; readonly lasting: StateLasting };
  readonly secrets: {
    /** The program that reads a password in a pane; null: none does. */
    prompt(pane: string): SecretPrompt | null | Promise<SecretPrompt | null>;
    /** The panes, among several, in which a password is read. */
    readers?(): Promise<string[]>;
    /** Types a secret if that program still reads one; overwrites the bytes. @returns whether the program got it */
    type(prompt: SecretPrompt, secret: Uint8Array): Promise<boolean>;
  };
  /** Current state of the program in one of several panes. */
  stateIn?(pane: string): Promise<SessionState>;
  /** Brings one of several panes into view: keys go to it. */
  reveal?(pane: string): void;
  resize(rows: number, cols: number): Promise<void>;
  /** The session has ended: pending waits fail with `gone`. */
  release(gone: WshError): void;
}

/** Events of a session for its listeners. Its panes report the program's events. */
export interface SessionEvents {
  /** Anything in SessionInfo that does not change with every key. */
  info: undefined;
  /** Anything in SessionInfo may have changed. */
  listed: undefined;
  /** A pane of the session's process has moved to another session, or back to its own. */
  joined: undefined;
  /** The session became private, or shows something private: AI agents lose what they may no longer see. */
  private: undefined;
  renamed: { readonly old_name: string; readonly new_name: string };
  tagged: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly tags: readonly string[] };
  /** The program has ended; the session stays readable for the grace period. */
  exited: PtyExit;
  /** The session was asked to end: its name is free and it can no longer be found, whatever its program still does. */
  ending: undefined;
  /** The connection of the session's owner has been lost for so long that the owner will not return. */
  ownerGone: undefined;
  destroyed: { readonly reason: EndReason; readonly exit: PtyExit };
  resized: Size;
  /** The number of open questions has changed. */
  questions: number;
  /** The session ends soon unless it is used. */
  warned: SessionEnding;
  /** A question was asked or has ended. */
  question: QuestionChange;
  /** A terminal attached, detached or changed its size. */
  viewer: ViewerChange;
  /** An event of its windows or panes. */
  layout: LayoutEvent;
  /** The drawing over or beside the terminal has changed. */
  drawn: undefined;
  /** A person typed; contains only the parts that others may know. */
  typed: TypedKey & { readonly pane: string; readonly target?: string };
  /** A person has pressed the prefix key, or another key that enters a table. */
  keyAwaited: undefined;
  inputMode: InputMode;
}

/** The session's interface to the registry; the session process implements it with the file system. */
export interface SessionRegistry {
  /** @returns the name in its stored form @throws WshError invalid_session_name, session_name_conflict */
  rename(name: string): Promise<string>;
  ended(name: string): Promise<void>;
  live(): Promise<void>;
  /** The session can no longer be found, by name or by id. */
  leave(name: string): Promise<void>;
}

export type SessionEmitter = Emitter<SessionEvents>;
