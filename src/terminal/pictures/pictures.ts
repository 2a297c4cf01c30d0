/**
 * A terminal's access to its program's pictures: the code is loaded with the first one, so that a session without
 * pictures does not have it in memory.
 */
import type { Terminal } from "@xterm/headless";
import { PLACEHOLDER } from "../../protocol/placeholder.ts";
import type { ModeTracker } from "../modes.ts";
import type { TerminalProfile } from "../profile.ts";
import type * as Pane from "./pane-pictures.ts";
import type { PictureSource } from "./picture.ts";

/** Cell size of a terminal that does not report it. */
const DEFAULT_CELL = { width: 8, height: 16 };

export class Pictures {
  private panePictures: Pane.PanePictures | null = null;

  constructor(
    private readonly terminal: Terminal,
    private readonly modes: ModeTracker,
    private readonly profile: () => TerminalProfile,
    private readonly reply: (text: string) => void,
  ) {}

  /** Null while the program has no pictures. */
  get source(): PictureSource | null {
    return this.panePictures;
  }

  /** @param text a command (from its `G` on), or placeholders @returns the text to parse in its place */
  convert(text: string): string {
    this.panePictures ??= this.load();
    return text.startsWith(PLACEHOLDER)
      ? this.panePictures.convertPlaceholders(text)
      : this.panePictures.handleCommand(text.slice(1));
  }

  /** @param put parses the replacement of sixel graphics */
  readSixel(put: (text: string) => void): void {
    this.terminal.parser.registerDcsHandler({ final: "q" }, (data) => {
      this.panePictures ??= this.load();
      put(this.panePictures.showSixel(data));
      return true;
    });
  }

  dispose(): void {
    this.panePictures?.dispose();
  }

  private load(): Pane.PanePictures {
    const { PanePictures }: typeof Pane = require("./pane-pictures.ts");
    const { terminal, modes, profile, reply } = this;
    const pane = new PanePictures({
      terminal,
      reply,
      get region() {
        return modes.bufferState(terminal.buffer.active.type);
      },
      get cell() {
        return profile().cell ?? DEFAULT_CELL;
      },
    });
    terminal.parser.registerEscHandler({ final: "c" }, () => {
      pane.reset();
      return false;
    });
    terminal.buffer.onBufferChange(({ type }) => {
      if (type === "normal") pane.handleAlternateExit();
    });
    return pane;
  }
}
