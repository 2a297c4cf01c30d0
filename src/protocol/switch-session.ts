/** A person's switch from one session to another. */
import * as v from "valibot";

/** A client in a pane asks the terminal whose key started it to show another session. */
export const GoSchema = v.object({
  pid: v.number(),
  socket: v.string(),
  number: v.number(),
  session: v.string(),
  /** Whether to only ask, without switching. */
  asks_only: v.optional(v.boolean(), false),
});
export type GoInput = v.InferInput<typeof GoSchema>;
/** `isInside`: the client runs at the pane's own terminal; otherwise nothing was done. */
export const WentSchema = v.object({ isInside: v.boolean() });
