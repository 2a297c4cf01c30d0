/**
 * The functions of commands that tests call often, without their processes: screen, list, new, and the operations.
 * `check` bundles this file, so it knows nothing of where it is.
 */
import { resolve } from "node:path";
import { parseSize } from "../../src/cli/commands/resize.ts";
import { cliCaller, SessionClient } from "../../src/cli/session/client.ts";
import { asJson, findAll, isEnded } from "../../src/cli/session/session-list.ts";
import type { Instance } from "../../src/instance/paths.ts";
import { sessionSpecOf, startSessionProcess } from "../../src/launch/session-process.ts";
import type { OperationInput, OperationNameOf, OperationOutput } from "../../src/operations/table.ts";
import { visibleRendered } from "../../src/protocol/harmless-text.ts";
import { parsePlace, parseTarget } from "../../src/protocol/names.ts";
import { ownerOf } from "../../src/protocol/owner.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { processState } from "../../src/registry/liveness.ts";
import { findSession } from "../../src/registry/registry.ts";
import { shellText } from "../../src/shell/quoting.ts";

/** Reads one session repeatedly, over one connection as long as it answers. */
export class ScreenLook implements Disposable {
  private session: SessionClient | null = null;

  constructor(
    private readonly instance: Instance,
    private readonly name: string,
  ) {}

  /** @returns null when `wsh screen` itself has to report it: sessions of other machines, crashed or unknown ones */
  async read(): Promise<string | null> {
    try {
      this.session ??= await this.open();
      if (this.session === null) return null;
      const { lines } = await this.session.call("screen.get", { format: "plain" });
      return `${lines.map((line) => visibleRendered(String(line).trimEnd())).join("\n")}\n`;
    } catch {
      this[Symbol.dispose]();
      return null; // The command reports the reason.
    }
  }

  private async open(): Promise<SessionClient | null> {
    const { machine, target } = parsePlace(this.name);
    if (machine !== null || processState(findSession(this.instance, parseTarget(target)).socket) !== "alive")
      return null;
    return SessionClient.open(this.instance, this.name);
  }

  [Symbol.dispose](): void {
    this.session?.[Symbol.dispose]();
    this.session = null;
  }
}

export async function readList(instance: Instance): Promise<SessionInfo[]> {
  const sessions = (await findAll(instance)).filter((one) => !isEnded(one));
  return JSON.parse(JSON.stringify(sessions.map(asJson)));
}

/** What `wsh new NAME` is given, of which these options are understood here. */
interface Wanted {
  command: string | null;
  cwd: string | null;
  shell: string | null;
  tags: string[];
  size: { readonly rows: number; readonly cols: number };
}

/** @returns null for an option that only the command itself understands */
function wantedOf(args: readonly string[], directory: string): Wanted | null {
  const wanted: Wanted = { command: null, cwd: null, shell: null, tags: [], size: { rows: 24, cols: 80 } };
  for (let at = 0; at < args.length; at += 2) {
    const [option, value] = [args[at], args[at + 1]];
    if (value === undefined) return null;
    if (option === "--cwd") wanted.cwd = resolve(directory, value);
    else if (option === "--shell") wanted.shell = value;
    else if (option === "--tag") wanted.tags.push(value);
    else if (option === "--size") wanted.size = parseSize(value);
    else if (option === "--") return { ...wanted, command: shellText(args.slice(at + 1)) };
    else return null;
  }
  return wanted;
}

/**
 * Starts a session with this environment, as `wsh new NAME ARGS` does in `dir`.
 * @returns null for an option that only the command itself understands
 */
export async function startHere(
  wsh: {
    readonly instance: Instance;
    readonly env: Readonly<Record<string, string>>;
    readonly dir: string;
    command(...args: readonly string[]): string[];
  },
  name: string,
  args: readonly string[] = [],
): Promise<SessionInfo | null> {
  const { instance, env, dir: cwd } = wsh;
  const wanted = wantedOf(args, cwd);
  if (wanted === null) return null;
  const { size, ...fields } = wanted;
  const create = { name, env: null, ...fields, ...size };
  const starter = {
    starter: "cli" as const,
    owner: ownerOf(cliCaller),
    naming: "number" as const,
    followed: false,
    opened: cliCaller.agent === undefined,
    env,
    cwd,
  };
  const spec = sessionSpecOf(instance, create, starter);
  const command = (args: readonly string[]): string[] => wsh.command(...args);
  return (await startSessionProcess(instance, spec, { env, command })).info as SessionInfo;
}

/** An operation of a session, asked of its process. */
export async function callHere<N extends OperationNameOf<"pane" | "session" | "layout">>(
  instance: Instance,
  session: string,
  operation: N,
  input: OperationInput<N>,
): Promise<OperationOutput<N>> {
  using client = await SessionClient.open(instance, session);
  return await client.call(operation, input);
}
