/** The person's settings for one attached terminal: its keys, and how it may be rendered. Replaced when they change. */
import type * as v from "valibot";
import { defaultPrefix, type Prefix, parsePrefix } from "../../keys/prefix.ts";
import { KeyTables } from "../../keys/tables.ts";
import type { AttachSchema } from "../../protocol/attach.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";

type KeySettings = Pick<
  v.InferOutput<typeof AttachSchema>,
  "prefix" | "bindings" | "mode_keys" | "repeat_ms" | "escape_ms" | "key_help_ms" | "pass_through"
>;

export class PersonKeys {
  key: Prefix | null = null;
  tables = new KeyTables({});
  repeatMs = 0;
  escapeMs = 0;
  keyHelpMs = 0;
  /** Keys of copy mode: the preset, and the person's changes to it. */
  copyModeKeys: Pick<CopyModeInput, "keys" | "bound"> = { keys: "vi" };
  mayPassThrough = true;

  /** @throws WshError invalid_setting for an invalid prefix key */
  constructor(settings: KeySettings) {
    this.use(settings);
  }

  /** @throws WshError invalid_setting; then nothing has changed */
  use({ prefix, bindings, mode_keys: keys, repeat_ms, escape_ms, key_help_ms, pass_through }: KeySettings): void {
    this.key = prefix === null ? null : parsePrefix(prefix);
    this.tables = new KeyTables(bindings);
    const bound = this.tables.copyModeChanges;
    this.copyModeKeys = Object.keys(bound).length === 0 ? { keys } : { keys, bound };
    this.repeatMs = repeat_ms;
    this.escapeMs = escape_ms;
    this.keyHelpMs = key_help_ms;
    this.mayPassThrough = pass_through;
  }

  /** The prefix key's label for the person. */
  get prefix(): string {
    return (this.key ?? defaultPrefix).label;
  }
}
