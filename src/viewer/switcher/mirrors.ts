/**
 * Prevents mirrors: a session that shows itself, directly or through others (A shows B, B shows A), would draw itself
 * endlessly. Each attached client, and each view pane, reports the session in which it is displayed. Before another
 * attaches or switches, the session processes are asked which session shows which, outwards from the session in which
 * the target would be displayed. A session is identified by its socket, which is unique over all instances and does not
 * change on a rename; a pane among several represents its session.
 */
import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { realPath } from "../../platform/readable.ts";
import { ShownInSchema } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import { listProcesses } from "../../registry/registry.ts";
import { Connection } from "../../wire/connection.ts";

/** Longest wait for a session process's answer, in ms; a hanging one shows nothing new either. */
const ANSWER_MS = 1_000;
/** Limit of sessions asked: a longer chain would not be visible on any screen. */
const MAX_ASKED = 64;

interface MirrorLink {
  readonly socket: string;
  readonly name: string | null;
  /** The session in which it is displayed, and so on up to the session that contains this terminal. */
  readonly displayedIn: MirrorLink | null;
}

/**
 * @param container socket of the session or pane in which the target would be displayed
 * @param chainEnd describes the end of the chain, for messages
 * @throws WshError nested_session, naming the chain
 */
export async function refuseMirror(
  instance: Instance,
  container: string,
  target: { readonly socket: string; readonly name: string },
  chainEnd = "this terminal is in",
): Promise<void> {
  const resolveSession = sessionResolver(instance);
  const targetSession = resolveSession(target.socket);
  const outerSession = resolveSession(container);
  if (outerSession === targetSession) {
    throw new WshError("nested_session", `this terminal is already in session '${target.name}'`, {
      hint: "Detach first, or attach from another terminal.",
    });
  }
  const visited = new Set([outerSession]);
  let links: readonly MirrorLink[] = [{ socket: outerSession, name: null, displayedIn: null }];
  while (links.length > 0) {
    const answers = await Promise.all(links.map(async (link) => ({ link, answer: await askShownIn(link.socket) })));
    const next: MirrorLink[] = [];
    for (const { link, answer } of answers) {
      if (answer === null) continue;
      const named = { ...link, name: answer.name };
      for (const socket of answer.shown_in) {
        const session = resolveSession(socket);
        if (session === targetSession) throw mirrorError(target.name, named, chainEnd);
        if (visited.has(session) || visited.size >= MAX_ASKED) continue;
        visited.add(session);
        next.push({ socket: session, name: null, displayedIn: named });
      }
    }
    links = next;
  }
}

function mirrorError(name: string, first: MirrorLink, chainEnd: string): WshError {
  const chain: string[] = [name];
  for (let link: MirrorLink | null = first; link !== null; link = link.displayedIn) chain.push(link.name ?? "?");
  const links = chain.slice(1).map((shown, index) => `'${chain[index]}' shows '${shown}'`);
  const lastLink = `${chainEnd} '${chain.at(-1)}'`;
  return new WshError("nested_session", `session '${name}' would show itself: ${[...links, lastLink].join(", ")}`, {
    hint: "Detach one of them first, or attach from another terminal.",
    details: { chain },
  });
}

/** Null for a session that has ended, hangs, or has a version that does not report it. */
async function askShownIn(socket: string): Promise<v.InferOutput<typeof ShownInSchema> | null> {
  try {
    const { connection } = await Connection.open(socket, "cli", {}, ANSWER_MS);
    try {
      const caller = { kind: "cli", id: `cli:${process.pid}`, connected: true } as const;
      const signal = AbortSignal.timeout(ANSWER_MS);
      return v.parse(ShownInSchema, await connection.request("peer.shown_in", {}, { caller, access: "admin", signal }));
    } finally {
      connection.close();
    }
  } catch {
    return null;
  }
}

/** The socket of the session to which a socket of the instance belongs; another instance's is returned unchanged. */
function sessionResolver(instance: Instance): (socket: string) => string {
  const processes = listProcesses(instance);
  const bySocket = new Map(processes.map((each) => [realPath(each.socket), each]));
  return (path) => {
    const socket = realPath(path);
    const entry = bySocket.get(socket);
    const session =
      entry === undefined ? entry : processes.find((each) => !each.isMember && each.session === entry.session);
    return session === undefined ? socket : realPath(session.socket);
  };
}
