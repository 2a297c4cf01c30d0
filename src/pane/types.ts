/** The options, events and shown properties of a pane: types that its parts and its owner share. Types only. */

import type { Clock } from "../base/clock.ts";
import type { AgentInfo } from "../protocol/agent.ts";
import type { OuterEffect } from "../protocol/attach.ts";
import type { CommandRecord } from "../protocol/commands.ts";
import type { ClipboardCopy } from "../protocol/frame.ts";
import type { Owner } from "../protocol/owner.ts";
import type { NumbersBefore } from "../protocol/pane-numbers.ts";
import type { PtyExit, PtyOpen, PtySpawn } from "../pty/port.ts";
import type { ShellKind } from "../shell/plan.ts";
import type { Attention, TerminalSink } from "../terminal/model.ts";
import type { TerminalProfile } from "../terminal/profile.ts";
import type { ChildKey } from "./commands/child-shells.ts";
import type { CommandLimits } from "./commands/commands-port.ts";
import type { SpoolLimits } from "./output/spool.ts";
import type { ObserverPort } from "./state/observer.ts";
import type { CursorPlace } from "./text/text.ts";

/** The program: a shell, or the one command that runs instead of it. */
export interface PaneShell {
  readonly kind: ShellKind;
  /** The command that runs instead of a shell, if any: all output is that command's. */
  readonly command: string | null;
  readonly integration: { readonly active: true } | { readonly active: false; readonly reason: string };
}

export interface PaneOptions {
  /** `@7`: unique in the instance. */
  readonly id: string;
  /** The command shown in lists. */
  readonly command: string;
  readonly spawn: PtySpawn;
  readonly open: PtyOpen;
  readonly nonce: string | null;
  /** The file by which the shell learns the nonce; absent without integration. */
  readonly keyFile?: { offer(): void; withdraw(): void };
  /** Makes the key of an inner shell; absent without files for shells. */
  readonly newKey?: () => ChildKey;
  readonly shell: PaneShell;
  readonly profile: TerminalProfile;
  /** Absent: unknown. */
  readonly owner?: Owner | undefined;
  /** Whether programs' clipboard writes are kept from clients. */
  readonly hideClipboard: boolean;
  /** Whether programs' titles are kept from clients. */
  readonly hideTitles: boolean;
  /** Whether modes left on by a command are switched off before the shell's next one. */
  readonly resetModes: boolean;
  readonly historyLines: number;
  readonly historyBytes: number;
  /** A person's own entries of the table of agents: `NAME=PATTERN`. */
  readonly agents?: readonly string[];
  /** Limits of pending waits and of command records. */
  readonly commands: CommandLimits;
  /** Storage for requested output that exceeds memory; null: none, as in a private session. */
  readonly spool: SpoolLimits | null;
  /** Whether an exec requested the pane's single command. */
  readonly isRequested?: boolean;
  /** Time of a killed program between SIGHUP and SIGKILL, in ms. */
  readonly killGraceMs: number;
  /** Holds the program's output until a follower reads it, at most this long, in ms. */
  readonly heldMs?: number;
  /** The pane's state before it was lost. */
  readonly restored?: RestoredPane;
  readonly clock?: Clock;
  /** The kernel's facts about the foreground programs; replaced by tests. */
  readonly readFacts?: ObserverPort["readFacts"];
}

export interface RestoredPane {
  /** Lines for its history, each ended by CR LF, and the number of the first. */
  readonly history: { readonly lines: Uint8Array; readonly first: number };
  /** Printed after them, before the program starts. */
  readonly text: Uint8Array;
  /** Its commands, oldest first, without output. */
  readonly commands: readonly CommandRecord[];
  /** The numbers issued before; null when the checkpoint does not contain them. */
  readonly numbers?: NumbersBefore | undefined;
  /** Positions of some earlier cursors. */
  readonly places?: readonly CursorPlace[] | undefined;
  /** No program is started: only the earlier contents are readable. */
  readonly hasCrashed: boolean;
}

export type Chunk = Parameters<TerminalSink["chunk"]>[0];

/** Events of a pane for its listeners. */
export interface PaneEvents {
  /** Parsed output, as clients may see it. */
  chunk: Chunk;
  /** The next chunk begins with these bytes: for pass-through terminals, which need not wait for the emulator. */
  ahead: Uint8Array;
  /** Properties shown in lists may have changed; runs per chunk and per input. */
  listed: undefined;
  /** The program entered or left its alternate screen. */
  alternate: boolean;
  title: string;
  bell: undefined;
  /** The program announced something, or reported progress. */
  attention: Attention;
  clipboard: ClipboardCopy;
  /** The next chunk has a sequence whose effect is not on the screen. */
  effect: OuterEffect;
  /** An agent has started, has ended, or has changed its state. */
  agent: AgentInfo | null;
  reset: Parameters<TerminalSink["reset"]>[0];
  /** A call erased screen and history: their contents must not be kept anywhere. */
  cleared: undefined;
  /** The screen is about to be rewrapped, between two chunks. */
  resizing: undefined;
  /** The program has ended, and its last output was parsed; not for a program that its successor replaces. */
  exited: PtyExit;
  /** A caller that waited for the program's end was notified: the result need not stay for that caller. */
  endReported: undefined;
  /** The caller that started the program no longer waits for it: its result stays longer. */
  abandoned: undefined;
  /** A piece of output was abandoned after an error. */
  crashed: unknown;
}
