/** Credentials as one word of a command line: the file's text, deflated, in base64url after a prefix. */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { WshError } from "../../protocol/errors.ts";
import { MAX_CREDS_CHARS } from "../../protocol/fleet.ts";

/** Identifies the word and its version. */
const PREFIX = "wsh-fleet-1.";
const LEVEL = 9;

export function packInvitation(credentials: string): string {
  return `${PREFIX}${deflateRawSync(credentials, { level: LEVEL }).toString("base64url")}`;
}

/** The credentials' text. @throws WshError invalid_credentials */
export function unpackInvitation(text: string): string {
  // Mail and chat break long lines; a copied whole command includes its own words.
  const word = text.replace(/\s+/g, "").replace(/^.*wshfleetjoin/, "");
  const packed = /^wsh-fleet-1\.([A-Za-z0-9_-]+)$/.exec(word)?.[1];
  if (packed === undefined) {
    throw new WshError("invalid_credentials", `not an invitation: an invitation begins with ${PREFIX}`);
  }
  try {
    return inflateRawSync(Buffer.from(packed, "base64url"), { maxOutputLength: MAX_CREDS_CHARS }).toString("utf8");
  } catch {
    throw new WshError("invalid_credentials", "incomplete invitation: copy it again");
  }
}
