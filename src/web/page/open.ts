/** The dialogs of the page, and which one a key opens. */
import type { SessionInfo } from "../../protocol/session.ts";

/** Beginning of the palette's entries for paste buffers. */
export const PASTE_PREFIX = "Paste: ";

/** Initial text of the palette, by the operation of a key. */
export const paletteQueries: ReadonlyMap<string, string> = new Map([
  ["view.agents", "agent "],
  ["view.buffers", PASTE_PREFIX],
]);

/** The open dialog above the terminals. */
export type OpenDialog =
  | { readonly kind: "palette"; readonly query: string }
  | { readonly kind: "settings" }
  | { readonly kind: "keys" }
  | { readonly kind: "new" }
  | { readonly kind: "rename"; readonly session: SessionInfo }
  | { readonly kind: "tags"; readonly session: SessionInfo }
  | { readonly kind: "paste"; readonly text: string; readonly decide: (yes: boolean) => void }
  | {
      readonly kind: "confirm";
      readonly question: string;
      readonly detail: string;
      readonly action: string;
      readonly run: () => void;
    }
  | { readonly kind: "operation"; readonly name: string };
