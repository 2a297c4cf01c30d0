/**
 * Who reads a password, as the person is told and as it is checked again at the write; and the two requests by which
 * the process that shows the question reaches the pane's process (`host.secret_prompt`, `host.secret`).
 */
import * as v from "valibot";

/** A program that reads a line without echo. */
export const SecretPromptSchema = v.object({
  /** Process group that holds the terminal. */
  group: v.number(),
  pid: v.nullable(v.number()),
  program: v.string(),
  commandLine: v.string(),
  /** The pane, in a session that has several. */
  pane: v.optional(v.string()),
});
export type SecretPrompt = v.InferOutput<typeof SecretPromptSchema>;

export const SecretInputSchema = v.object({
  group: v.number(),
  typed: v.string(),
  /** Wall time in ms after which nobody waits for the answer any more: nothing is typed then. */
  before: v.number(),
});

/** The answers: null when nobody reads a password; whether the program that was named got it. */
export const FoundPromptSchema = v.object({ prompt: v.nullable(SecretPromptSchema) });
export const SecretTakenSchema = v.object({ taken: v.boolean() });
