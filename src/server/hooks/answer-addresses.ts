/**
 * Addresses that answer a question when they are posted to: the buttons of a notice. Each is of one question and one
 * answer, is signed with a key of the instance, and ends with the question, which is answered once.
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

/** Longest address, in characters: a choice of 1,000. */
const MAX_LENGTH = 8_192;

/** What follows `/notice/`. */
export function answerCode(key: string, answer: AddressedAnswer): string {
  const encoded = Buffer.from(JSON.stringify(answer)).toString("base64url");
  return `${encoded}.${signed(key, encoded).toString("base64url")}`;
}

/** Null: it was not made with this key. */
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
