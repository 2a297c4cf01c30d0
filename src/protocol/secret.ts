/** The program that reads a password, as shown to the person, and as checked again before typing. */
import * as v from "valibot";

/** A program that reads a line without echo. */
export const SecretPromptSchema = v.object({
  /** Process group that holds the terminal. */
  group: v.number(),
  pid: v.nullable(v.number()),
  program: v.string(),
  commandLine: v.string(),
  /** The pane, if the session has several. */
  pane: v.optional(v.string()),
});
export type SecretPrompt = v.InferOutput<typeof SecretPromptSchema>;
