/**
 * Passwords for a pane that another process runs: the session that has the pane asks which program reads one, and
 * sends the one that the person typed. Only session processes make these requests.
 */
import * as v from "valibot";
import { orUntil } from "../../base/deadline.ts";
import { requireInTime } from "../../protocol/requests.ts";
import { type SecretPrompt, SecretPromptSchema } from "../../protocol/secret.ts";
import type { LocalPane } from "./local-pane.ts";
import type { PaneLink } from "./placed-pane.ts";

/** Longest wait for the process that runs the pane, in ms: if it hangs, this wait delays the next question. */
const MAX_ANSWER_MS = 2_000;
/**
 * Age at which that process discards a secret, in ms: less than the wait, after which the person is told that it
 * was not received.
 */
const MAX_SECRET_AGE_MS = 1_000;

const PromptSchema = v.object({ prompt: v.nullable(SecretPromptSchema) });
/** `until`: Unix time in ms after which it is discarded. */
const SecretSchema = v.object({ group: v.number(), secret: v.string(), until: v.number() });
const TakenSchema = v.object({ taken: v.boolean() });

/** The program that reads a password there; null: none does, or the process does not answer. */
export async function guestPrompt(link: PaneLink, pane: string): Promise<SecretPrompt | null> {
  const answer = await answerOrNull(link.request("peer.secret_prompt", {}));
  const parsed = v.safeParse(PromptSchema, answer);
  return parsed.success && parsed.output.prompt !== null ? { ...parsed.output.prompt, pane } : null;
}

/** Overwrites the bytes. @returns whether the program received them */
export async function typeSecret(link: PaneLink, group: number, bytes: Uint8Array): Promise<boolean> {
  const secret = bytes.toBase64();
  bytes.fill(0);
  const answer = await answerOrNull(
    link.request("peer.secret", { group, secret, until: Date.now() + MAX_SECRET_AGE_MS }),
  );
  return v.is(TakenSchema, answer) && answer.taken;
}

/** The answer; null: an error, or no answer in time. */
function answerOrNull(request: Promise<unknown>): Promise<unknown> {
  return orUntil(
    request.catch(() => null),
    { ms: MAX_ANSWER_MS },
    () => null,
  );
}

export function localPrompt({ pane }: LocalPane): v.InferOutput<typeof PromptSchema> {
  return { prompt: pane.secrets.prompt() };
}

export async function typeLocalSecret({ pane }: LocalPane, input: unknown): Promise<v.InferOutput<typeof TakenSchema>> {
  const { group, secret, until } = v.parse(SecretSchema, input);
  requireInTime(until);
  return { taken: await pane.secrets.type({ group }, Uint8Array.fromBase64(secret)) };
}
