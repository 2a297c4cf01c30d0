/**
 * The TCP ports on which programs of this account listen, and the panes in which they were started: a program inherits
 * WSH_PANE and WSH_SOCKET from its pane and keeps them under another parent. One reading of the kernel's tables.
 */
import type { Instance } from "../instance/paths.ts";
import { platform } from "../platform/platform.ts";
import { type Concealment, holdersSeen } from "../protocol/concealed.ts";
import { parseTarget, sessionId } from "../protocol/names.ts";
import type { PortHolder } from "../protocol/ports.ts";
import { listSessions, lookUp } from "./registry.ts";

/** Longest command line in the answer, in characters. */
const MAX_PROGRAM = 200;

interface PortsAsked {
  readonly port?: number | undefined;
  /** Also programs outside sessions. */
  readonly all: boolean;
  /** Id of the only session of which the caller may learn. */
  readonly only?: string | undefined;
}

/** @returns null if the system does not show listeners */
export function listPorts(instance: Instance, { port: wanted, all, only }: PortsAsked): PortHolder[] | null {
  const { listeners, processes } = platform();
  const sockets = listeners?.listening(process.pid) ?? null;
  if (listeners === null || sockets === null) return null;
  const asked = sockets.filter(({ port }) => wanted === undefined || port === wanted);
  const left = new Map(asked.map((socket) => [socket.id, socket]));
  const found = new Map<string, PortHolder>();
  const entries = listSessions(instance);
  for (const pid of left.size === 0 ? [] : listeners.all()) {
    for (const id of listeners.heldSockets(pid, new Set(left.keys())) ?? []) {
      const socket = left.get(id);
      if (socket === undefined) continue;
      const place = placeOf(instance, entries, listeners.environment(pid));
      if (only !== undefined && place?.session_id !== only) continue;
      if (place === null && !all) continue;
      const key = `${pid} ${socket.port}`;
      const known = found.get(key);
      const stat = processes.stat(pid);
      found.set(key, {
        port: socket.port,
        addresses: [...new Set([...(known?.addresses ?? []), socket.address])],
        pid,
        program: (processes.args(pid).join(" ") || (stat?.name ?? "")).slice(0, MAX_PROGRAM),
        since: stat === null ? null : listeners.startedAt(stat),
        ...place,
      });
    }
  }
  const held = new Set([...found.values()].map(({ port }) => port));
  const hidden = !all || only !== undefined ? [] : asked.filter(({ port }) => !held.has(port));
  for (const { port, address } of hidden)
    found.set(`? ${port}`, { port, addresses: [address], pid: null, program: null, since: null });
  return [...found.values()].sort((a, b) => a.port - b.port || (a.pid ?? 0) - (b.pid ?? 0));
}

/** The answer of the operation. */
export function portsAnswer(
  instance: Instance,
  asked: PortsAsked,
  concealment: Concealment | null,
): { ports: PortHolder[]; reason?: string } {
  const ports = listPorts(instance, asked);
  return ports === null
    ? { ports: [], reason: "the system does not show the listeners of ports" }
    : { ports: holdersSeen(ports, concealment, asked.port !== undefined) };
}

/** The pane named by an environment, if it belongs to this instance and its session exists. */
function placeOf(
  instance: Instance,
  entries: ReturnType<typeof listSessions>,
  environment: readonly string[],
): Pick<PortHolder, "session" | "session_id" | "pane"> | null {
  const variable = (name: string) => environment.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
  const pane = variable("WSH_PANE");
  if (pane === undefined || variable("WSH_SOCKET") !== instance.httpSocket) return null;
  const target = parseTarget(pane);
  const entry = target.kind === "pane" ? lookUp(entries, target) : undefined;
  if (entry?.session == null) return null;
  return { session: entry.name ?? sessionId(entry.session), session_id: sessionId(entry.session), pane };
}
