/** Receipts: signed statements by a session process about a command (docs/receipts.md). */
import * as v from "valibot";
import { EnvelopeSchema, ReceiptKeySchema } from "../protocol/receipt.ts";
import { CommandIdSchema } from "./commands.ts";
import { operation } from "./define.ts";
import { NothingSchema } from "./sessions.ts";

export const receiptOperations = [
  operation({
    name: "commands.receipt",
    scope: "pane",
    access: "observe",
    summary: "A signed statement of one ended command: in-toto, in a DSSE envelope",
    input: v.object({ id: CommandIdSchema }),
    output: EnvelopeSchema,
    errors: ["command_not_found", "invalid_cursor"],
    http: [{ method: "GET", path: "/sessions/:name/commands/:id/receipt" }],
    ws: ["get_receipt"],
  }),
  operation({
    name: "receipt.key",
    scope: "pane",
    access: "observe",
    summary: "The public key that verifies receipts of the session's commands",
    input: NothingSchema,
    output: ReceiptKeySchema,
    http: [{ method: "GET", path: "/sessions/:name/receipt-key" }],
    ws: ["get_receipt_key"],
  }),
] as const;
