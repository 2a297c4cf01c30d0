/**
 * Addresses for answering a question by a POST: the buttons of a notice. Each belongs to one question and one answer,
 * is signed with a key of the instance, and becomes invalid with the question, which is answered once.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import * as v from "valibot";
import { parseJson } from "../../protocol/json.ts";

const AnswerSchema = v.strictObject({
  session: v.string(),
  ask: v.string(),
  answer: v.union([v.string(), v.boolean()]),
});
type AddressedAnswer = v.InferOutput<typeof AnswerSchema>;

/** Longest address, in characters: it contains a choice of up to 1,000. */
const MAX_LENGTH = 8_192;

/** The part of the address after `/notice/`. */
export function answerCode(key: string, answer: AddressedAnswer): string {
  const encoded = Buffer.from(JSON.stringify(answer)).toString("base64url");
  return `${encoded}.${signed(key, encoded).toString("base64url")}`;
}

/** Null: it was not created with this key. */
export function answerOf(key: string, code: string): AddressedAnswer | null {
  const [payload = "", signature = "", ...rest] = code.length > MAX_LENGTH ? [] : code.split(".");
  const signatureBytes = Buffer.from(signature, "base64url");
  const expected = signed(key, payload);
  if (rest.length > 0 || signatureBytes.length !== expected.length || !timingSafeEqual(signatureBytes, expected))
    return null;
  const parsed = v.safeParse(AnswerSchema, parseJson(Buffer.from(payload, "base64url").toString()));
  return parsed.success ? parsed.output : null;
}

function signed(key: string, text: string): Buffer {
  return createHmac("sha256", `notice ${key}`).update(text).digest();
}
