/**
 * The environment of shell commands that tmux's commands run: run-shell, if-shell, `#()`, hooks, pipes. As in
 * tmux, it contains what `set-environment` has set. It makes `tmux` in these commands use this instance, even
 * when the caller is a key or a hook, which runs outside any session.
 */
import fs from "node:fs";
import { delimiter } from "node:path";
import { type Instance, tmuxPlaces } from "../../instance/paths.ts";
import { BY_KEY } from "../../launch/key-variable.ts";
import { parseTarget } from "../../protocol/names.ts";
import { listSessions, lookUp } from "../../registry/registry.ts";
import type { Backend } from "../backend.ts";
import type { State } from "../state.ts";
import { installTmux } from "./program.ts";

/** Where a shell finds programs if PATH is unset. */
const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin";

/** @param variables those of `set-environment` */
export function jobEnvironment(
  instance: Instance,
  { env, pane, isByKey }: Pick<Backend, "env" | "pane" | "isByKey">,
  variables: State["environment"],
): Record<string, string> {
  const entries = listSessions(instance);
  const entry = pane === null ? undefined : lookUp(entries, parseTarget(pane));
  const job: Record<string, string | undefined> = { ...env };
  for (const [name, { value, hidden }] of Object.entries(variables)) if (!hidden) job[name] = value ?? undefined;
  job.WSH_SOCKET = instance.httpSocket;
  if (isByKey === true) job[BY_KEY] = "1";
  job.TMUX_PANE = pane?.replace("@", "%");
  const placed = [...(entry === undefined ? [] : [entry]), ...entries].map((entry) => ({
    ...tmuxPlaces(instance, entry.id),
    session: entry.session ?? 0,
  }));
  const served = placed.find(({ socket }) => fs.existsSync(socket));
  const tmuxSocket = served ?? placed[0];
  const isInside = env.TMUX?.startsWith(`${instance.sessionsDir}/`) === true;
  if (isInside || tmuxSocket === undefined) job.TMUX = env.TMUX;
  else {
    job.TMUX = `${tmuxSocket.socket},${process.pid},${tmuxSocket.session}`;
    job.TMUX_TMPDIR = tmuxSocket.directory;
  }
  const bin = installTmux(instance);
  const path = (job.PATH || USUAL_PATH).split(delimiter).filter((each) => each !== bin);
  // The real binary needs the socket.
  job.PATH = (served === undefined ? [bin, ...path] : [...path, bin]).join(delimiter);
  return Object.fromEntries(Object.entries(job).filter((each): each is [string, string] => each[1] !== undefined));
}
