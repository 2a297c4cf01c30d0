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
  const [said = "", signature = "", ...rest] = code.length > MAX_LENGTH ? [] : code.split(".");
  const given = Buffer.from(signature, "base64url");
  const wanted = signed(key, said);
  if (rest.length > 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
  const parsed = v.safeParse(AnswerSchema, parseJson(Buffer.from(said, "base64url").toString()));
  return parsed.success ? parsed.output : null;
}

function signed(key: string, text: string): Buffer {
  return createHmac("sha256", `notice ${key}`).update(text).digest();
}
