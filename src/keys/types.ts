/** A person's input, as reported to subscribers and in captured keys (docs/keys.md, In events). */

export type Modifier = "ctrl" | "alt" | "shift";

export interface ParsedKey {
  /** A key name such as `ArrowUp`, or the character (space is `" "`). */
  readonly key: string;
  readonly modifiers: readonly Modifier[];
}

/**
 * `release` is the release of a key, `modifier` a modifier or lock key alone: reported only to a program that requested
 * them, and never a key press.
 */
export type InputKind = "key" | "release" | "modifier" | "mouse" | "paste" | "focus" | "reply";

export interface InputEvent {
  readonly raw: Uint8Array;
  /** Null when the bytes are not a key, or a key without a name. */
  readonly parsed: ParsedKey | null;
  readonly kind: InputKind;
}
