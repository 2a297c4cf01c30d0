/** The person's settings for this terminal, read again when they change: keys, colours and underlines. */
import type { Prefix } from "../keys/prefix.ts";
import { type KeyChanges, KeyTables } from "../keys/tables.ts";
import type { PersonSettings } from "../protocol/attach.ts";
import type { CopyModeInput } from "../protocol/copy-mode.ts";
import { capsWithSettings, type OuterCaps, type StyleSettings } from "./render/modes.ts";

export interface PersonConfig extends StyleSettings {
  readonly prefix: Prefix | null;
  /** Changes to the tables of bindings, flat. */
  readonly bindings: KeyChanges;
  /** Time after a repeatable key in which it needs no prefix, in ms. */
  readonly repeatMs: number;
  /** The key bindings of copy mode. */
  readonly modeKeys: CopyModeInput["keys"];
  readonly escapeMs: number;
  readonly keyHelpMs: number;
}

export class LivePersonSettings {
  tables: KeyTables;
  /** Colours that the terminal has reported. */
  private depth: OuterCaps["colors"] | undefined;

  constructor(
    private current: PersonConfig,
    /** Reads the current settings, or returns the error: then the old ones remain in effect. */
    private readonly read: () => Promise<PersonConfig | { readonly fault: string }>,
  ) {
    this.tables = new KeyTables(current.bindings);
  }

  get key(): Prefix | null {
    return this.current.prefix;
  }

  get repeatMs(): number {
    return this.current.repeatMs;
  }

  get escapeMs(): number {
    return this.current.escapeMs;
  }

  get keyHelpMs(): number {
    return this.current.keyHelpMs;
  }

  /** The terminal's abilities, before it has reported anything. */
  get caps(): OuterCaps {
    return capsWithSettings(process.env, this.current);
  }

  /** Rendering settings. @param depth colours that the terminal has reported */
  styles(depth = this.depth): Pick<OuterCaps, "colors" | "underlineStyles"> {
    this.depth = depth;
    const { colors, underlineStyles } = this.caps;
    return { colors: this.current.colors === "auto" ? (depth ?? colors) : colors, underlineStyles };
  }

  /** The settings for the session's process. */
  get settings() {
    const { prefix, bindings, modeKeys, repeatMs, escapeMs, keyHelpMs, colors, underlines } = this.current;
    return {
      // A program's own bytes may use any colour and any underline.
      pass_through: (colors === "auto" || colors === "truecolor") && underlines !== "plain",
      prefix: prefix?.label ?? null,
      bindings: { ...bindings },
      mode_keys: modeKeys,
      repeat_ms: repeatMs,
      escape_ms: escapeMs,
      key_help_ms: keyHelpMs,
    } satisfies PersonSettings;
  }

  /** The settings may have changed. @returns the update for the session's process */
  async reread(): Promise<PersonSettings> {
    const config = await this.read();
    if ("fault" in config) return config;
    this.current = config;
    this.tables = new KeyTables(config.bindings);
    return this.settings;
  }
}
