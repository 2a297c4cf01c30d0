/** `--create`: the session with a name, made if missing. */
import type { Instance } from "../../instance/paths.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parsePlace } from "../../protocol/names.ts";
import { absolute, variables } from "../arguments.ts";
import { SessionClient } from "./client.ts";
import { startSession } from "./start.ts";

/** Requested directory and variables; an existing session with others refuses the call. */
export interface CreationOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The session with that name, created with a shell if missing; and the requirements for an existing one. */
export async function openOrCreate(
  instance: Instance,
  name: string,
  { cwd, env, port }: { readonly cwd?: string; readonly env?: readonly string[]; readonly port?: "free" },
): Promise<{ readonly session: SessionClient; readonly creation: CreationOptions }> {
  const open = (): Promise<SessionClient> => SessionClient.open(instance, name);
  const variablesOf = env === undefined ? null : variables(env);
  const creation = {
    ...(cwd === undefined ? {} : { cwd: absolute(cwd) }),
    ...present({ env: variablesOf }),
  };
  try {
    return { session: await open(), creation };
  } catch (thrown) {
    if (!(thrown instanceof WshError) || thrown.code !== "session_not_found") throw thrown;
  }
  try {
    await createSession(instance, name, cwd, variablesOf, port);
    return { session: await open(), creation: {} };
  } catch (thrown) {
    // Another caller created it meanwhile.
    if (!(thrown instanceof WshError) || thrown.code !== "session_name_conflict") throw thrown;
  }
  return { session: await open(), creation };
}

/** Creates the session, with a shell. @throws WshError session_name_conflict and others */
async function createSession(
  instance: Instance,
  name: string,
  cwd: string | undefined,
  env: Readonly<Record<string, string>> | null,
  port: "free" | undefined,
): Promise<void> {
  const { machine, target } = parsePlace(name);
  const size = { rows: 24, cols: 80 };
  if (machine === null) {
    const create = { name, command: null, shell: null, tags: [], ...size, cwd: cwd ?? null, env, ...defined({ port }) };
    await startSession(instance, create, "number");
    return;
  }
  const { startRemote } = await import("./start-remote.ts");
  const place = { ...defined({ cwd, port }), ...present({ env }) };
  // Uses a separate request id: the command that follows has the caller's.
  await startRemote(instance, machine, { name: target, ...size, ...place });
}
