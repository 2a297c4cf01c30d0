/** The functions of `wsh screen`, `wsh list --json` and `wsh new NAME --json` without their processes, since tests call them often. */
import { cliCaller, SessionClient } from "../../src/cli/session/client.ts";
import { asJson, findAll, isEnded } from "../../src/cli/session/session-list.ts";
import type { Instance } from "../../src/instance/paths.ts";
import { sessionSpecOf, startSessionProcess } from "../../src/launch/session-process.ts";
import { visibleRendered } from "../../src/protocol/harmless-text.ts";
import { parsePlace, parseTarget } from "../../src/protocol/names.ts";
import { ownerOf } from "../../src/protocol/owner.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { processState } from "../../src/registry/liveness.ts";
import { findSession } from "../../src/registry/registry.ts";
import { program } from "./wsh-program.ts";

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

/** Starts a session of the shell with this environment, as `wsh new NAME` does in `dir`. */
export async function startHere(
  { instance, env, dir: cwd }: { instance: Instance; env: Readonly<Record<string, string>>; dir: string },
  name: string,
): Promise<SessionInfo> {
  const create = { name, command: null, cwd: null, shell: null, tags: [], env: null, rows: 24, cols: 80 };
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
  const command = (args: readonly string[]): string[] => [...program, ...args];
  return (await startSessionProcess(instance, spec, { env, command })).info as SessionInfo;
}
