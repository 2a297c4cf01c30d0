/** The person's settings for one attached terminal: its keys, and how it may be shown. Replaced when they change. */
import type * as v from "valibot";
import { type Bindings, changedBindings } from "../../keys/bindings.ts";
import { defaultPrefix, type Prefix, parsePrefix } from "../../keys/prefix.ts";
import type { AttachSchema } from "../../protocol/attach.ts";

type Said = Pick<v.InferOutput<typeof AttachSchema>, "prefix" | "bindings" | "mode_keys" | "relay">;

export class PersonKeys {
  key: Prefix | null = null;
  bindings: Bindings = new Map();
  modeKeys: Said["mode_keys"] = "vi";
  mayRelay = true;

  /** @throws WshError invalid_setting for an invalid prefix key */
  constructor(said: Said) {
    this.use(said);
  }

  /** @throws WshError invalid_setting: nothing has changed then */
  use({ prefix, bindings, mode_keys, relay }: Said): void {
    this.key = prefix === null ? null : parsePrefix(prefix);
    this.bindings = changedBindings(bindings);
    this.modeKeys = mode_keys;
    this.mayRelay = relay;
  }

  /** The prefix key as the person knows it. */
  get prefix(): string {
    return (this.key ?? defaultPrefix).label;
  }
}
