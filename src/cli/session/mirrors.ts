/**
 * Mirrors: a session that shows itself, directly or through others (A shows B, B shows A), would draw itself without
 * end. Each attached client reports which session it runs in; before another attaches, the session processes are asked
 * which session shows which, outwards from this terminal's session. A session is identified by its socket, which is
 * unique over all instances and does not change on a rename.
 */
import fs from "node:fs";
import * as v from "valibot";
import { hostSocket } from "../../instance/paths.ts";
import { ShownInSchema } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { Connection } from "../../wire/connection.ts";
import { paneAround } from "./around.ts";

/** Longest wait for a session process's answer, in ms; one that hangs shows nothing new either. */
const ANSWER_MS = 1_000;
/** Limit of sessions asked: a longer chain would not be visible on any screen. */
const MAX_ASKED = 64;

type Environment = Readonly<Record<string, string | undefined>>;

/** The socket of the session that this process runs in; null outside. */
export function sessionAround(env: Environment): string | null {
  const around = paneAround(env);
  if (around === null) return null;
  const target = parseTarget(around.pane);
  return target.kind === "pane" ? hostSocket(around.instance, target.id) : null;
}

interface Link {
  readonly socket: string;
  readonly name: string | null;
  /** What it shows, and so on up to the session that this terminal is in. */
  readonly shows: Link | null;
}

/** @throws WshError nested_session, naming the chain */
export async function refuseMirror(
  around: string,
  target: { readonly socket: string; readonly name: string },
): Promise<void> {
  const wanted = canonical(target.socket);
  if (canonical(around) === wanted) {
    throw new WshError("nested_session", `this terminal is in session '${target.name}' already`, {
      hint: "Detach first, or attach from another terminal.",
    });
  }
  const seen = new Set([canonical(around)]);
  let links: readonly Link[] = [{ socket: around, name: null, shows: null }];
  while (links.length > 0) {
    const answers = await Promise.all(links.map(async (link) => ({ link, answer: await ask(link.socket) })));
    const next: Link[] = [];
    for (const { link, answer } of answers) {
      if (answer === null) continue;
      const named = { ...link, name: answer.name };
      for (const socket of answer.shown_in) {
        const known = canonical(socket);
        if (known === wanted) throw mirror(target.name, named);
        if (seen.has(known) || seen.size >= MAX_ASKED) continue;
        seen.add(known);
        next.push({ socket, name: null, shows: named });
      }
    }
    links = next;
  }
}

function mirror(name: string, first: Link): WshError {
  const chain: string[] = [name];
  for (let link: Link | null = first; link !== null; link = link.shows) chain.push(link.name ?? "?");
  const said = chain.slice(1).map((shown, at) => `'${chain[at]}' shows '${shown}'`);
  const here = `this terminal is in '${chain.at(-1)}'`;
  return new WshError("nested_session", `session '${name}' would show itself: ${[...said, here].join(", ")}`, {
    hint: "Detach one of them first, or attach from another terminal.",
    details: { chain },
  });
}

/** Null for a session that has ended, hangs, or is of a version that does not report it. */
async function ask(socket: string): Promise<v.InferOutput<typeof ShownInSchema> | null> {
  try {
    const { connection } = await Connection.open(socket, "cli", {}, ANSWER_MS);
    try {
      const caller = { kind: "cli", id: `cli:${process.pid}`, connected: true } as const;
      const signal = AbortSignal.timeout(ANSWER_MS);
      return v.parse(ShownInSchema, await connection.request("host.shown_in", {}, { caller, access: "admin", signal }));
    } finally {
      connection.close();
    }
  } catch {
    return null;
  }
}

function canonical(socket: string): string {
  try {
    return fs.realpathSync(socket);
  } catch {
    return socket;
  }
}
