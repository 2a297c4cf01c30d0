/** How a terminal attaches: the one stream request of a host's socket that a person's terminal makes. */
import * as v from "valibot";
import { SideSchema } from "./session.ts";

/** History that is played into the outer terminal's own scrollback before the screen: all, none, or the newest N lines. */
export const ScrollbackChoiceSchema = v.union([
  v.picklist(["all", "none"]),
  v.pipe(v.number(), v.integer(), v.minValue(0)),
]);
export type ScrollbackChoice = v.InferOutput<typeof ScrollbackChoiceSchema>;

export const AttachSchema = v.object({
  rows: SideSchema,
  cols: SideSchema,
  scrollback: ScrollbackChoiceSchema,
  /** Looks on: sends no keys and does not decide the size. */
  read_only: v.boolean(),
});
export type Attach = v.InferInput<typeof AttachSchema>;

export const ResizeSchema = v.object({ rows: SideSchema, cols: SideSchema });

/** A session's size is another than the terminal's: what fits is shown. */
export const SizeNoticeSchema = v.object({
  event: v.literal("size"),
  rows: v.number(),
  cols: v.number(),
});
