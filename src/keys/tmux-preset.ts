/** Changes of the setting `prefix_preset = "tmux"` to the default bindings: the keys that differ in tmux 3.3a. */
import { type Binding, callInWords, defaultBindings } from "./bindings.ts";

function bound(operation: string, input: Readonly<Record<string, unknown>> = {}, description?: string): Binding {
  const call = { operation, input };
  return { ...call, description: description ?? callInWords(call) };
}

/** tmux's arrows repeat. */
const arrows = [...defaultBindings].filter(([key]) => key.startsWith("Arrow"));

export const tmuxPreset: Readonly<Record<string, Binding | null>> = {
  "ctrl+b": bound("view.send_prefix"),
  "-": bound("buffer.delete", {}, "delete the newest copy"),
  "#": bound("view.buffers"),
  ...Object.fromEntries(arrows.map(([key, binding]) => [key, { ...binding, repeat: true }])),
};
