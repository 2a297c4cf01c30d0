/**
 * A receipt: facts about one command that a session process has witnessed, signed by a key that only this process has
 * (docs/receipts.md). The statement is in-toto's, version 1, in an envelope of DSSE, version 1.
 */
import * as v from "valibot";
import { described } from "./fields.ts";
import { OwnerSchema } from "./owner.ts";

export const STATEMENT_TYPE = "https://in-toto.io/Statement/v1";
/** Not an address: a name of this form, which changes with the form. */
export const PREDICATE_TYPE = "urn:wsh:command:v1";
export const PAYLOAD_TYPE = "application/vnd.in-toto+json";

const TimeSchema = v.pipe(v.string(), v.isoTimestamp());
const Sha256Schema = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
/** SHA-1 or SHA-256, according to the repository. */
const TreeSchema = v.pipe(v.string(), v.regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/));

/** All files of a repository that git does not ignore, at one moment. */
const GitStateSchema = v.strictObject({ tree: TreeSchema, at: TimeSchema });

const PredicateSchema = v.strictObject({
  command: v.nullable(v.string()),
  cwd: v.nullable(v.string()),
  state: v.picklist(["finished", "lost", "replaced"]),
  started_at: TimeSchema,
  ended_at: v.nullable(TimeSchema),
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
  /** The writer of the command. */
  by: OwnerSchema,
  /** The agent that put the line at the prompt, where `by` ran it. */
  offered_by: v.optional(OwnerSchema),
  /** Whether the shell reported all of it in time, by marks that programs cannot forge. */
  verified: v.boolean(),
  warnings: v.optional(v.array(v.string())),
  /** The text as `wsh output` prints it; null: it is not stored completely. */
  output: v.nullable(v.strictObject({ sha256: Sha256Schema, bytes: v.number(), lines: v.number() })),
  /** Why the output is missing. */
  no_output: v.optional(v.string()),
  git: v.strictObject({
    before: v.nullable(GitStateSchema),
    after: v.nullable(GitStateSchema),
    /** Why one of them is missing. */
    missing: v.optional(v.string()),
  }),
  session: v.strictObject({ name: v.string(), pane: v.string(), command_id: v.number(), wsh: v.string() }),
});
export type Predicate = v.InferOutput<typeof PredicateSchema>;

export const StatementSchema = v.strictObject({
  _type: v.literal(STATEMENT_TYPE),
  subject: v.array(v.strictObject({ name: v.string(), digest: v.record(v.string(), v.string()) })),
  predicateType: v.literal(PREDICATE_TYPE),
  predicate: PredicateSchema,
});
export type Statement = v.InferOutput<typeof StatementSchema>;

export const EnvelopeSchema = v.strictObject({
  payload: described(v.string(), "the statement, as base64"),
  payloadType: described(v.literal(PAYLOAD_TYPE), "what the payload is"),
  signatures: described(
    v.pipe(
      v.array(
        v.strictObject({
          keyid: described(v.string(), "fingerprint of the session's key"),
          sig: described(v.string(), "of Ed25519, over type and payload as DSSE encodes them, as base64"),
        }),
      ),
      v.minLength(1),
    ),
    "one",
  ),
});
export type Envelope = v.InferOutput<typeof EnvelopeSchema>;

export const ReceiptKeySchema = v.object({
  public_key: described(v.string(), "as a line of OpenSSH"),
  keyid: described(v.string(), "its fingerprint, as OpenSSH prints it"),
});
export type ReceiptKey = v.InferOutput<typeof ReceiptKeySchema>;

/** Subjects of the statement: the files afterwards, and the output. */
export function subjectsOf({ git, output }: Pick<Predicate, "git" | "output">): Statement["subject"] {
  return [
    ...(git.after === null ? [] : [{ name: "files", digest: { gitTree: git.after.tree } }]),
    ...(output === null ? [] : [{ name: "output", digest: { sha256: output.sha256 } }]),
  ];
}
