/**
 * Secrets for a pane that another process runs: the session that has the pane learns which program reads one, and sends
 * what the person typed. Only processes of sessions make these requests.
 */
import * as v from "valibot";
import { type SecretPrompt, SecretPromptSchema } from "../../protocol/secret.ts";
import type { LocalPane } from "./local-pane.ts";
import type { PaneLink } from "./placed-pane.ts";

const PromptSchema = v.object({ prompt: v.nullable(SecretPromptSchema) });
const SecretSchema = v.object({ group: v.number(), secret: v.string() });
const TakenSchema = v.object({ taken: v.boolean() });

/** The program that reads a password there; null: none does, or the process does not answer. */
export async function guestPrompt(link: PaneLink, pane: string): Promise<SecretPrompt | null> {
  const answer = await link.request("peer.secret_prompt", {}).catch(() => null);
  const parsed = v.safeParse(PromptSchema, answer);
  return parsed.success && parsed.output.prompt !== null ? { ...parsed.output.prompt, pane } : null;
}

/** Overwrites the bytes. @returns whether the program received them */
export async function typeSecret(link: PaneLink, group: number, bytes: Uint8Array): Promise<boolean> {
  const secret = bytes.toBase64();
  bytes.fill(0);
  const answer = await link.request("peer.secret", { group, secret }).catch(() => null);
  return v.is(TakenSchema, answer) && answer.taken;
}

export function promptHere({ pane }: LocalPane): v.InferOutput<typeof PromptSchema> {
  return { prompt: pane.secrets.prompt() };
}

export async function typeHere({ pane }: LocalPane, input: unknown): Promise<v.InferOutput<typeof TakenSchema>> {
  const { group, secret } = v.parse(SecretSchema, input);
  return { taken: await pane.secrets.type({ group }, Uint8Array.fromBase64(secret)) };
}
