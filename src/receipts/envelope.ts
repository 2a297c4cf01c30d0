/**
 * DSSE envelopes: signing a statement and opening one. Invariant: a payload is read only after its signature was
 * verified with a known key, and only the signed bytes are read.
 */
import { type KeyObject, sign, verify } from "node:crypto";
import * as v from "valibot";
import { jsonOrNull } from "../protocol/json.ts";
import { type Envelope, EnvelopeSchema, PAYLOAD_TYPE, type Statement, StatementSchema } from "../protocol/receipt.ts";
import type { VerifyingKey } from "./keys.ts";

/** Longest envelope that is read, in characters: room for a command of 1 MiB and the other fields. */
const MAX_ENVELOPE = 4_194_304;

export function seal(statement: Statement, secret: KeyObject, keyid: string): Envelope {
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = sign(null, signedBytes(payload), secret).toString("base64");
  return { payload: payload.toString("base64"), payloadType: PAYLOAD_TYPE, signatures: [{ keyid, sig }] };
}

type VerifiedEnvelope =
  | { readonly statement: Statement; readonly key: VerifyingKey; readonly fault?: undefined }
  | { readonly fault: string };

/** @param given JSON of an envelope, or its base64url from a trailer */
export function open(given: string, keys: readonly VerifyingKey[]): VerifiedEnvelope {
  const text = given.trim();
  if (text.length > MAX_ENVELOPE) return { fault: "it is longer than any receipt" };
  const envelope = envelopeIn(text);
  if (envelope === null) return { fault: "it is not a receipt (a DSSE envelope with an in-toto statement)" };
  const payload = Buffer.from(envelope.payload, "base64");
  if (payload.toString("base64") !== envelope.payload) return { fault: "its payload is not base64" };
  const bytes = signedBytes(payload);
  const key = keys.find(({ key }) =>
    envelope.signatures.some(({ sig }) => verify(null, bytes, key, Buffer.from(sig, "base64"))),
  );
  if (key === undefined) {
    const ids = envelope.signatures.map(({ keyid }) => keyid).join(", ");
    const isKnown = keys.some(({ id }) => envelope.signatures.some(({ keyid }) => keyid === id));
    return {
      fault: isKnown
        ? "its signature is wrong: it was changed"
        : `it is signed by '${ids}', which is not a trusted key`,
    };
  }
  const statement = read(StatementSchema, payload.toString());
  return statement === null ? { fault: "its statement has an unknown form" } : { statement, key };
}

/** The envelope's statement without checking the signature: use it only to find the machine that has the key. */
export function unverified(given: string): Statement | null {
  const envelope = envelopeIn(given.trim());
  return envelope === null ? null : read(StatementSchema, Buffer.from(envelope.payload, "base64").toString());
}

function envelopeIn(text: string): Envelope | null {
  return read(EnvelopeSchema, text.startsWith("{") ? text : Buffer.from(text, "base64url").toString());
}

/** The signed bytes: the type and the payload, each after its length (DSSE, PAE). */
function signedBytes(payload: Buffer): Buffer {
  const front = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `;
  return Buffer.concat([Buffer.from(front), payload]);
}

function read<S extends v.GenericSchema>(schema: S, text: string): v.InferOutput<S> | null {
  const { success, output } = v.safeParse(schema, jsonOrNull(text));
  return success ? output : null;
}
