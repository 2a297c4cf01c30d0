/** A person at one session goes to another. */
import * as v from "valibot";

/** A client in a pane wants the terminal whose key started it to show another session. */
export const GoSchema = v.object({
  pid: v.number(),
  socket: v.string(),
  number: v.number(),
  session: v.string(),
  /** Nothing is done. */
  asks_only: v.optional(v.boolean(), false),
});
export type GoInput = v.InferInput<typeof GoSchema>;
/** `isInside`: the client runs at the pane's own terminal; else nothing was done. */
export const WentSchema = v.object({ isInside: v.boolean() });
