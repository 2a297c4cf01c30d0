/**
 * Fetches what formats need beyond the list of sessions: terminals, screens and layouts, from the session processes.
 */
import type { OperationOutput } from "../operations/table.ts";
import type { PaneTerminal } from "../protocol/pane-terminal.ts";
import type { Backend } from "./backend.ts";
import { terminalVariables } from "./formats/terminal-variables.ts";
import type { FormatContext, FormatFacts } from "./formats/variables.ts";
import { type Model, oldestPane, placeOf, type ResolvedTarget, type Session } from "./model.ts";
import { optionAt } from "./options/options.ts";
import type { State } from "./state.ts";

const ofTerminals = new RegExp(["session_path", "session_last_attached", ...Object.keys(terminalVariables)].join("|"));

export async function gatherFacts(
  backend: Backend,
  { model, state }: { readonly model: Model; readonly state: State },
  template: string,
  { scopes }: { readonly scopes: readonly FormatContext[] },
): Promise<FormatFacts> {
  const places = /#\{[SWP]:/.test(template) ? model.places : scopes.flatMap(placesAround);
  const targets = [...new Set(places.flatMap(({ session, pane }) => [oldestPane(session).target, pane.target]))];
  const terminals = new Map<string, PaneTerminal>();
  const screens = new Map<string, readonly string[]>();
  const each = (needed: boolean, read: (target: string) => Promise<unknown>): Promise<unknown> =>
    // A pane that has ended meanwhile has no values.
    Promise.all(needed ? targets.map((target) => read(target).catch(() => {})) : []);
  await each(ofTerminals.test(template), async (target) => terminals.set(target, await backend.terminal(target)));
  await each(/C[/:]/.test(template), async (target) => {
    const { lines } = await backend.call("screen.get", { format: "plain" }, target);
    screens.set(target, lines.map(String));
  });
  const layouts = new Map<string, string>();
  if (template.includes("_layout")) {
    const sessions = [...new Set(places.map(({ session }) => session.target))];
    for (const got of await Promise.all(sessions.map((target) => backend.call("layout.get", {}, target))))
      for (const window of got.windows) layouts.set(window.id, window.tmux);
  }
  const attached = new Map<string, readonly string[]>();
  if (template.includes("session_attached_list"))
    for (const session of new Set(places.map((place) => place.session)))
      attached.set(session.target, await attachedTo(backend, state, session));
  const { version, socketPath, hostname, account, pid } = backend;
  return {
    version,
    socketPath,
    hostname,
    account,
    pid,
    terminals,
    screens,
    layouts,
    attached,
    now: Date.now(),
    startedAt: Math.min(...model.sessions.map(({ info }) => info.created_at)),
    marked: state.marked,
    pipes: new Set(Object.entries(state.pipes).flatMap(([pane, carrier]) => (backend.isAlive(carrier) ? [pane] : []))),
    historyLimit: Number(optionAt(state, {}, "history-limit") ?? 0),
    controlled: Object.values(state.clients).flatMap(({ pid: client, session }) =>
      backend.isAlive(client) ? [session] : [],
    ),
  };
}

async function attachedTo(backend: Backend, state: State, session: Session): Promise<readonly string[]> {
  const controls = Object.entries(state.clients).filter(
    ([, { pid, session: shown }]) => shown === session.target && backend.isAlive(pid),
  );
  const terminals = session.info.attached === 0 ? [] : backend.call("session.clients", {}, session.target);
  const listed = await Promise.resolve(terminals).catch(() => []);
  return [...controls.map(([name]) => name), ...listed.map((each) => clientName(session, each))];
}

/** The name of an attached terminal or page. */
export function clientName(
  { name }: Session,
  { client, terminal, page }: OperationOutput<"session.clients">[number],
): string {
  return terminal ?? `${page === null ? "wsh" : "page"}-${name}-${client}`;
}

function placesAround({ session, window, pane }: FormatContext): readonly ResolvedTarget[] {
  return session === undefined ? [] : [placeOf(session, window, pane)];
}
