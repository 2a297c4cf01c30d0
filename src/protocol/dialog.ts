/** The steps of a dialog: an expected condition, and the input that follows it. */
import * as v from "valibot";
import { ConditionSchema } from "./conditions.ts";

const MAX_DIALOG_STEPS = 50;

/** A step of a dialog: an expected condition, and the input that follows it. */
const RunStepSchema = v.object({
  expect: v.optional(v.union([ConditionSchema, v.pipe(v.string(), v.minLength(1), v.maxLength(1_024))])),
  input: v.optional(v.string()),
  keys: v.optional(v.array(v.string())),
  submit: v.optional(v.boolean()),
});
export type RunStep = v.InferOutput<typeof RunStepSchema>;

export const RunStepsSchema = v.pipe(v.array(RunStepSchema), v.minLength(1), v.maxLength(MAX_DIALOG_STEPS));
