/** Programs that listen on TCP ports, and the panes in which they were started (docs/protocol.md, Ports). */
import * as v from "valibot";
import { described, integerBetween, optional } from "./fields.ts";
import { visible } from "./harmless-text.ts";

const PortHolderSchema = v.object({
  port: v.number(),
  addresses: described(v.array(v.string()), "as 127.0.0.1, 0.0.0.0 or ::"),
  pid: described(v.nullable(v.number()), "null: the system hides it"),
  program: described(v.nullable(v.string()), "its command line, cut"),
  since: described(v.nullable(v.number()), "Unix time in ms at which it was started"),
  session: optional(v.string(), "the session in which it was started; absent: no session"),
  session_id: v.optional(v.string()),
  pane: v.optional(v.string()),
});
export type PortHolder = v.InferOutput<typeof PortHolderSchema>;

const PortSchema = integerBetween(1, 65_535);

export const ListPortsSchema = v.object({
  port: optional(PortSchema, "only its listener"),
  all: optional(v.boolean(), "also programs outside sessions", false),
});

export const PortsSchema = v.object({
  ports: described(v.array(PortHolderSchema), "one for each program and port"),
  reason: optional(v.string(), "why the system does not show them"),
});

/** "port 3000 is held by node server.js (pid 4711), session api, pane @3, since 12:04:10". */
export function holderText({ port, pid, program, session, pane, since }: PortHolder): string {
  const who =
    program === null ? "a program that the system hides" : `${visible(program)}${pid === null ? "" : ` (pid ${pid})`}`;
  const where = session === undefined ? "" : `, session ${session}, pane ${pane}`;
  const when = since === null ? "" : `, since ${new Date(since).toTimeString().slice(0, 8)}`;
  return `port ${port} is held by ${who}${where}${when}`;
}

/**
 * The port that a program could not get, according to its output, otherwise the only such number in its
 * command line; null: neither names one.
 */
export function refusedPort(output: string, command: string): number | null {
  const about = /EADDRINUSE|[Aa]ddress (?:is )?already in use|port (?:\d+ )?(?:is )?already (?:in use|allocated)/i;
  const at = output.search(about);
  if (at < 0) return null;
  // The text after such a message first: the text before it may be a line of the program's source.
  const match = portIn.exec(output.slice(at, at + AROUND)) ?? portIn.exec(output.slice(Math.max(0, at - AROUND), at));
  const named = [...new Set(command.match(/(?<![\d.])\d{4,5}(?![\d.])/g) ?? [])];
  const port = Number(match?.[1] ?? (named.length === 1 ? named[0] : Number.NaN));
  return port >= 1 && port <= 65_535 ? port : null;
}

const portIn = /(?:[\s\d\]*a-z:]:|\bport:?\s*|\bPORT=)(\d{2,5})\b/i;

/** Characters on both sides of such a message to search for the port. */
const AROUND = 300;
