/**
 * The contents of an attached terminal: one program that fills the picture, or a window composed of several panes; it
 * may switch between both. Presenting, rendering and the attached terminal depend on this interface alone. Types only.
 *
 * Invariant: outside of `whenAtRest`, and of a listener's `chunk` and `changed`, a picture may be incomplete.
 */
import type { Layout } from "../../compositor/panel-layout.ts";
import type { OuterEffect, TerminalColors } from "../../protocol/attach.ts";
import type { Acting } from "../../protocol/caller.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import type { ClipboardCopy, FrameModes, FramePlaces } from "../../protocol/frame.ts";
import type { Grid, Row } from "../../protocol/grid.ts";
import type { LastingChange } from "../../protocol/lasting-changes.ts";
import type { Size } from "../../protocol/size.ts";
import type { CopyModeSource } from "../../session/copy-mode/text.ts";
import type { TypedInput } from "../../session/types.ts";
import type { PictureSource } from "../../terminal/pictures/picture.ts";
import type { MouseTargets } from "./pointer.ts";

/** A position in a program's output: a logical line, and a cell of it. */
export interface Position {
  readonly line: number;
  readonly col: number;
}

export interface DisplayListener {
  /** The next chunk begins with these bytes. */
  ahead(bytes: Uint8Array): void;
  /** A program printed. Runs per chunk. */
  chunk(bytes: Uint8Array): void;
  /** The picture has changed without bytes of a program. @param isEcho probably just the echo of a key */
  changed(isEcho: boolean): void;
  /** The picture will be made in another size. */
  resizing(): void;
  /** The picture was rebuilt, in another size or from the start. */
  reset(): void;
  bell(): void;
  clipboard(copied: ClipboardCopy): void;
  /**
   * A program's next chunk makes a terminal do something besides drawing. @param program null: it runs in another
   * process
   */
  effect?(effect: OuterEffect, program: DisplayedProgram | null): void;
}

/** One program whose own bytes produce the whole picture, and whose lines leave it at the top. */
export interface DisplayedProgram {
  /** Null while it has no pictures. */
  readonly pictures: PictureSource | null;
  readonly lastingChanges: { watch(): { newChanges(): readonly LastingChange[] } };
  /** Changes made by `serialize` that survive a reset of all modes. */
  readonly serializedChanges: readonly LastingChange[];
  /** Output that brings a reset terminal to this picture, after rows of history. */
  serialize(options: { readonly history: number }): Uint8Array;
  /** Start of the normal screen. */
  readonly screenTop: Position;
  readonly lastLine: number;
  /** Text of a logical line; null when it is not stored. */
  lineText(id: number): string | null;
  countAbove(since: Position, limit: number): number;
  newestRows(limit: number): Row[];
  rowsAbove(since: Position, limit: number): Row[];
}

export interface DisplayedContent {
  /** Size of the picture, without the panels beside it. */
  readonly rows: number;
  readonly cols: number;
  /** Changes whenever the picture may have changed. */
  readonly epoch: number;
  readonly alternate: boolean;
  readonly modes: FrameModes;
  /** Whether a pane is in the picture. */
  shows(pane: string): boolean;
  /** Whether listeners are notified of a pane's bell. */
  rings(pane: string): boolean;
  /** Empty without one. */
  readonly title: string;
  /** Whether it is in the middle of a synchronized update. */
  readonly isSynchronized: boolean;
  /** Whether the newest output is the end of a shell's prompt: no more follows until the next key. */
  readonly endsWithPrompt?: boolean;
  /** @param ascii draw lines with ASCII characters */
  grid(ascii?: boolean): Grid;
  /** Positions of panes in the picture, and the lines of their rows. */
  framePlaces(): FramePlaces;
  /** Runs `make` when the picture is whole, at once if it is. */
  whenAtRest<T>(make: () => T): Promise<T>;
  listen(listener: DisplayListener): () => void;
  learnColors(colors: TerminalColors): void;
  /** Targets of the mouse in the picture. */
  readonly mouseTargets: MouseTargets;
  /** Whether the picture has panes to choose from, with lines between them. */
  readonly hasSeveralPanes: boolean;
  /** Whether its active window and pane belong to this terminal only. */
  readonly isIndependent?: boolean;
  /** Whether that window is not the session's active one: it has its own size, and its own layout of panels. */
  readonly hasSeparateWindow?: boolean;
  /** Layout of the panels around the picture; absent: the session's. */
  readonly layout?: Layout | null;
  /** Reports the size that the terminal which shows it has, and contributes. */
  reportOuterSize?(outer: Size): void;
  /** Whether a pane (by default the recipient of input) belongs to another session that is shown here. */
  isOfOtherSession?(pane?: string): boolean;
  /** The recipient of input. */
  readonly input: TypedInput;
  /** History and screen, for copy mode. In a window of several panes: asks one of them, or the focused one. */
  readonly copyModeSource: CopyModeSource | ((input: CopyModeInput, pane?: string) => Promise<void>);
  /** Picture sources of its panes, if their programs have pictures. */
  readonly pictures: readonly PictureSource[];
  /** Null if several panes share the picture. */
  readonly program: DisplayedProgram | null;
  /** Programs that are as wide as the picture: lines that leave their screens can go to a terminal's scrollback. */
  readonly fullWidthPrograms: readonly DisplayedProgram[];
}

/**
 * Whether a pane (by default the recipient of input) belongs to a session that the caller at the terminal may not use.
 */
export function isInaccessible(
  { by, content }: { readonly by: Acting; readonly content: Pick<DisplayedContent, "isOfOtherSession"> },
  pane?: string,
): boolean {
  return by.caller.only !== undefined && content.isOfOtherSession?.(pane) === true;
}
