/**
 * What a session is made of, what it reports, and what it needs of the registry: the types that its parts and its host
 * share. Nothing here does anything.
 */

import type { Clock } from "../base/clock.ts";
import type { Emitter } from "../base/emitter.ts";
import type { CommandLimits } from "../pane/commands/commands.ts";
import type { ElementLimits, ScreenMode } from "../protocol/drawing.ts";
import type { EndReason } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { PtyExit, PtyOpen, PtySpawn } from "../pty/port.ts";
import type { ShellKind } from "../shell/plan.ts";
import type { TerminalSink } from "../terminal/model.ts";
import type { TerminalProfile } from "../terminal/profile.ts";
import type { InputMode, TypedKey } from "./keyboard.ts";
import type { SizePolicy } from "./viewers.ts";

export interface SessionSettings {
  /** Between two commands of the shell, modes that the first left on are switched off. */
  readonly resetModes: boolean;
  readonly historyLines: number;
  readonly historyBytes: number;
  /** How long an ended session stays readable, in ms. */
  readonly graceMs: number;
  /** The same when whoever started the program has stopped waiting for it, in ms. */
  readonly execGraceMs: number;
  /** How long a killed program has between SIGHUP and SIGKILL, in ms. */
  readonly killGraceMs: number;
  readonly sizePolicy: SizePolicy;
  readonly elements: ElementLimits;
  /** Pending waits, and what command records keep. */
  readonly commands: CommandLimits;
}

export interface SessionOptions {
  readonly id: number;
  readonly name: string;
  readonly tags: readonly string[];
  readonly server: string;
  /** What lists show as the command. */
  readonly command: string;
  readonly spawn: PtySpawn;
  readonly open: PtyOpen;
  readonly nonce: string | null;
  /** How the shell learns the nonce; absent without integration. */
  readonly keyFile?: { offer(): void; withdraw(): void };
  readonly shell: {
    readonly kind: ShellKind;
    /** The command that runs instead of a shell, when one does: all its output is that command's. */
    readonly command: string | null;
    readonly integration: { readonly active: true } | { readonly active: false; readonly reason: string };
  };
  readonly profile: TerminalProfile;
  /** Programs' clipboard writes do not reach clients. */
  readonly hideClipboard: boolean;
  /** Neither do the titles that they set. */
  readonly hideTitles: boolean;
  readonly settings: SessionSettings;
  /** The program waits with its output until somebody follows it, at most so long, in ms. */
  readonly heldMs?: number;
  readonly clock?: Clock;
}

export type Chunk = Parameters<TerminalSink["chunk"]>[0];

/** What a session reports to those who listen. */
export interface SessionEvents {
  /** Parsed output, as clients may see it. */
  chunk: Chunk;
  /** The next chunk begins with these bytes: for terminals that are relayed to, which need not wait for the emulator. */
  ahead: Uint8Array;
  /** Anything in SessionInfo that does not change with every key. */
  info: undefined;
  /** Anything in SessionInfo may have changed; runs per chunk and per input. */
  listed: undefined;
  renamed: { readonly old_name: string; readonly new_name: string };
  tagged: { readonly added: readonly string[]; readonly removed: readonly string[]; readonly tags: readonly string[] };
  /** The program has ended; the session stays readable for the grace period. */
  exited: PtyExit;
  /** Somebody who waited for the program's end knows of it: nobody has to be kept for that any more. */
  endTold: undefined;
  /** It was asked to end: its name is free and nobody finds it any more, whatever its program still does. */
  ending: undefined;
  /** The session is over. */
  destroyed: { readonly reason: EndReason; readonly exit: PtyExit };
  reset: Parameters<TerminalSink["reset"]>[0];
  alternate: boolean;
  title: string;
  bell: undefined;
  clipboard: { readonly selection: string; readonly base64: string };
  resized: Size;
  /** The pane's screen is about to be wrapped anew, between two chunks. */
  resizing: undefined;
  /** What is drawn over and beside the terminal, or where, has changed. */
  drawn: undefined;
  /** A person typed, as far as others may know. */
  typed: TypedKey & { readonly target?: string };
  inputMode: InputMode;
  screenMode: ScreenMode;
}

/** How the registry is told; the host implements it over the file system. */
export interface SessionRegistry {
  /** @throws WshError invalid_session_name, session_name_conflict */
  rename(name: string): Promise<void>;
  ended(name: string): Promise<void>;
  live(): Promise<void>;
  /** The session is found no more, neither by name nor by id. */
  leave(name: string): Promise<void>;
}

export type SessionEmitter = Emitter<SessionEvents>;
