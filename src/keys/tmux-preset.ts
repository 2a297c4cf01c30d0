/** Changes of the setting `prefix_preset = "tmux"` to the default bindings: the keys that differ in tmux 3.3a. */
import { type Binding, defaultBindings, describeCall } from "./bindings.ts";

function bindCall(operation: string, input: Readonly<Record<string, unknown>> = {}, description?: string): Binding {
  const call = { operation, input };
  return { ...call, description: description ?? describeCall(call) };
}

/** tmux's arrows repeat. */
const arrowBindings = [...defaultBindings].filter(([key]) => key.startsWith("Arrow"));

const TMUX_PREFIX = "ctrl+b";
const sendsPrefix = bindCall("view.send_prefix");

export const tmuxPreset: Readonly<Record<string, Binding | null>> = {
  [TMUX_PREFIX]: sendsPrefix,
  "-": bindCall("buffer.delete", {}, "delete the newest copy"),
  "#": bindCall("view.buffers"),
  ...Object.fromEntries(arrowBindings.map(([key, binding]) => [key, { ...binding, repeat: true }])),
};

/** The preset with another prefix key, which is typed when pressed twice, too. @param prefix its name; null: none */
export function tmuxPresetFor(prefix: string | null): typeof tmuxPreset {
  return prefix === null || defaultBindings.has(prefix) ? tmuxPreset : { ...tmuxPreset, [prefix]: sendsPrefix };
}
