/** The actions of a person in copy mode, and how it begins. */
import * as v from "valibot";
import { integerBetween } from "./fields.ts";

/** The style of keys in copy mode. */
export const modeKeyChoices = ["vi", "emacs"] as const;

/** Maximum rows that the wheel scrolls at once: more than any terminal has. */
export const MAX_WHEEL_ROWS = 1000;
const CellSchema = integerBetween(0, 1000);

export const KeyNameSchema = v.pipe(v.string(), v.maxLength(96));

/** An action of copy mode with its count, and a text to search or a character to jump to. */
export const CopyModeActSchema = v.object({
  action: v.pipe(v.string(), v.maxLength(32)),
  count: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(99_999)),
  text: v.pipe(v.string(), v.maxLength(256)),
});
export type CopyModeAct = v.InferOutput<typeof CopyModeActSchema>;

/** The person uses copy mode. */
export const CopyModeInputSchema = v.object({
  keys: v.picklist(modeKeyChoices),
  /** Rows to scroll up by the wheel; scrolling back to the end leaves copy mode. */
  wheel: v.optional(integerBetween(1, MAX_WHEEL_ROWS)),
  /**
   * The left button was pressed in a cell, this many times in a row: the next typed key leaves and goes to the program.
   */
  press: v.optional(
    v.object({ row: CellSchema, col: CellSchema, clicks: v.pipe(v.number(), v.minValue(1), v.maxValue(3)) }),
  ),
  /** An action for the open copy mode. */
  act: v.optional(CopyModeActSchema),
  /** The person's changes to these keys: an action of copy mode, or null to unbind a key. */
  bound: v.optional(v.record(KeyNameSchema, v.nullable(v.string()))),
  /** For a terminal with NO_COLOR: selection, matches and labels have no colours. */
  plain: v.optional(v.boolean()),
});
export type CopyModeInput = v.InferInput<typeof CopyModeInputSchema>;
