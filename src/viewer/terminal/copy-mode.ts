/**
 * Copy mode of one terminal: begins and ends it, and passes it the input. In a window of several panes, the process of
 * the focused pane does this for all of the window's viewers.
 */
import { systemClock } from "../../base/clock.ts";
import { bytesForProgram } from "../../keys/passed-event.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import { WshError } from "../../protocol/errors.ts";
import type { FrameModes } from "../../protocol/frame.ts";
import type { Grid } from "../../protocol/grid.ts";
import type { CopyMode } from "../../session/copy-mode/copy-mode.ts";
import { ViewerKeys } from "../../session/viewer-keys.ts";
import type { DisplayedContent } from "./displayed-content.ts";
import { elementInputModes } from "./input-modes.ts";

interface CopyModePort {
  /** Whether a pane can be in copy mode for all of its viewers. */
  mayShare(pane?: string): boolean;
  changed(): void;
  copied(text: string): void;
  say(text: string): void;
  /** Input for the program. */
  sendInput(bytes: Uint8Array): void;
  readonly mouse: { readonly isAllowed: boolean };
  /** Whether the terminal has NO_COLOR. */
  readonly isPlain: boolean;
}

export class PaneCopyMode {
  private mode: CopyMode | null = null;
  private readonly keys: ViewerKeys;

  constructor(
    private readonly content: DisplayedContent,
    private readonly viewer: number,
    private readonly port: CopyModePort,
  ) {
    this.keys = new ViewerKeys(
      systemClock,
      (events) => {
        for (const event of events) {
          // Input after the key that leaves copy mode goes to the program.
          if (this.mode?.handleInput(event) === true) continue;
          port.sendInput(bytesForProgram(event, content.modes.bracketedPaste));
        }
      },
      0,
    );
  }

  get isOn(): boolean {
    return this.mode !== null;
  }

  /** Whether a search is being typed, in the last row. */
  get isTyping(): boolean {
    return this.mode?.isTyping === true;
  }

  /** @throws WshError of the other process, if one is asked */
  async begin({ keys, ...input }: CopyModeInput, pane?: string): Promise<void> {
    const { act } = input;
    const { content, port } = this;
    const options = port.isPlain ? { ...input, plain: true } : input;
    const { copyModeSource } = content;
    if (typeof copyModeSource === "function") {
      if (!port.mayShare(pane))
        throw new WshError("access_denied", "this terminal cannot enter copy mode in another session's pane");
      await copyModeSource({ keys, ...options }, pane);
      return;
    }
    if (act !== undefined) {
      if (this.mode?.perform(act) !== true)
        throw new WshError("invalid_request", `copy mode has no action '${act.action}'`);
      return;
    }
    if (this.mode !== null) {
      if (options.wheel !== undefined) this.mode.scroll(-options.wheel);
      else if (options.press === undefined) this.mode.keepKeys();
      return;
    }
    // Loaded on first use of copy mode.
    const { CopyMode } = await import("../../session/copy-mode/copy-mode.ts");
    const { changed, copied, say: showMessage } = port;
    const left = (): void => this.end();
    await content.whenAtRest(() => {
      this.mode ??= new CopyMode(copyModeSource, keys, { changed, copied, showMessage, left }, options);
    });
    port.changed();
  }

  push(bytes: Uint8Array): void {
    this.keys.push(this.viewer, bytes);
  }

  /** The picture; null outside of copy mode. */
  grid(): Grid | null {
    return this.mode?.grid() ?? null;
  }

  modes(program: FrameModes): FrameModes {
    return elementInputModes(program, this.port.mouse.isAllowed ? 1002 : 0);
  }

  close(): void {
    this.end();
    this.keys.dispose();
  }

  private end(): void {
    const { mode } = this;
    if (mode === null) return;
    this.mode = null;
    mode.close();
    this.port.changed();
  }
}
