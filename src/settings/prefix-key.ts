/** Determines the prefix key from the settings. Pure. */
import type { LoadedSettings } from "./settings.ts";

/** tmux's prefix key, used if the setting prefix_preset asks for it and no prefix is set. */
const TMUX_PREFIX = "C-b";

/** The name of the prefix key: from the setting, or else the preset's. */
export function prefixKeyOf({ values, originOf }: Pick<LoadedSettings, "values" | "originOf">): string {
  const isSet = originOf("prefix_key").from !== "default";
  return values.prefix_preset === "tmux" && !isSet ? TMUX_PREFIX : values.prefix_key;
}
