/** The prefix key in help texts: that of the settings, of `wsh tmux set -g prefix` or of a preset. */
import type { Instance } from "../instance/paths.ts";

/** How texts name the default prefix key, and how they say that it detaches. */
const KEY = "Ctrl+\\";
const IN_SENTENCE = `The prefix key (${KEY}) twice detaches`;
const IN_OVERVIEW = `${KEY} twice detaches`;

/** Replaces the default prefix key in a text by the one in force. */
export type PrefixWords = (text: string) => string;

/** Only for a text that is printed: it reads the settings. */
export async function prefixWords(instance: Instance): Promise<PrefixWords> {
  const [{ loadSettings }, { bindingsOf }, { defaultPrefix, parsePrefix }, { keyLabel, keyName }, { KeyTables }] =
    await Promise.all([
      import("../settings/settings.ts"),
      import("./session/bindings.ts"),
      import("../keys/prefix.ts"),
      import("../keys/bindings.ts"),
      import("../keys/tables.ts"),
    ]);
  const settings = loadSettings(instance, { flags: {}, env: process.env, tolerant: true });
  const { prefix: name, changes } = await bindingsOf(instance, settings, () => {});
  const prefix = parsePrefix(name);
  if (prefix === null)
    return (text) => text.replaceAll(IN_SENTENCE, "There is no prefix key").replaceAll(IN_OVERVIEW, "No prefix key");
  const bindings = [...new KeyTables(changes).prefix];
  const isBound = bindings.some(([key]) => key === keyName(prefix.key));
  if (prefix.label === defaultPrefix.label && !isBound) return (text) => text;
  const [detach] = bindings.find(([, { operation }]) => operation === "view.detach") ?? [];
  const how = !isBound ? "twice detaches" : detach === undefined ? "begins keys" : `then ${keyLabel(detach)} detaches`;
  const key = prefix.label;
  return (text) =>
    text
      .replaceAll(IN_SENTENCE, `The prefix key (${key}) ${how}`)
      .replaceAll(IN_OVERVIEW, `${key} ${how}`)
      .replaceAll(`instead of ${KEY}`, `instead of ${key}`);
}
