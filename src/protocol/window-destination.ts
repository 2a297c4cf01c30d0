/** Where a window moves to, in the words of calls. Pure. */
import { WshError } from "./errors.ts";
import { parseTarget } from "./names.ts";

/**
 * @param to a number, a session, or session:number; null: the window's own session
 * @param index the number there, if `to` has none
 * @returns session null: the window's own @throws WshError invalid_request
 */
export function windowDestination(
  to: string | null,
  index: number | null,
): { readonly session: string | null; readonly index: number | null } {
  const [, named = "", number = ""] = /^(?:([^:]*):)?(\d*)$/.exec(to ?? "") ?? [to, to ?? ""];
  const given = number === "" ? index : Number(number);
  if (index !== null && given !== index) throw new WshError("invalid_request", `'${to}' and index ${index} differ`);
  if (to === "") throw new WshError("invalid_request", "'' is not a session, a number, or session:number");
  if (named === "") return { session: null, index: given };
  const target = parseTarget(named);
  if ((target.kind === "session" && target.window !== undefined) || /^(pane|window_id)$/.test(target.kind)) {
    throw new WshError("invalid_request", `'${to}' is not a session, a number, or session:number`);
  }
  return { session: named, index: given };
}

/** Another window to swap with. A bare name would be a session's. @throws WshError invalid_request */
export function requireWindow(text: string): void {
  if (/^(\d+|next|previous|last)$/.test(text)) return;
  if (!/[@:]/.test(text))
    throw new WshError("invalid_request", `'${text}' is not a window`, {
      hint: "Name it by its number, next, previous, last, an id such as @w5, or session:window.",
    });
  parseTarget(text);
}
