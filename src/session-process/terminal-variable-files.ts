/**
 * Files that pass an attached terminal's variables to programs that already run: one that the session's shells
 * read at their prompt (WSH_ENVIRONMENT), and the instance's link to a running ssh agent. Nothing is written
 * before a terminal brings variables. The process removes the file when it ends.
 */
import fs from "node:fs";
import { join } from "node:path";
import { linkAgent } from "../instance/agent-link.ts";
import { ensureOwnDir, removeIfPossible, replaceOwnFile } from "../instance/owned-files.ts";
import type { Instance } from "../instance/paths.ts";
import { placeDigest } from "../instance/place-digest.ts";
import type { Logger } from "../log/log.ts";
import { platform } from "../platform/platform.ts";
import type { Session } from "../session/session.ts";
import type { ViewerChange } from "../session/viewers.ts";
import type { Settings } from "../settings/table.ts";
import { broughtNames } from "../settings/terminal-variable-names.ts";
import { refreshFile } from "../shell/variable-assignments.ts";

/** Path of the file for shells of this process; the file for fish has the suffix `.fish`. */
export function variablesFilePath({ stateDir, fileName, runtimeDir }: Instance): string {
  return join(stateDir, `${fileName}.${placeDigest(runtimeDir)}.env`, String(process.pid));
}

/** Time from a terminal's detachment to the check of its ssh agent, in ms: sshd removes the socket a moment later. */
const SSH_AGENT_CHECK_MS = 2_000;

interface TerminalVariableFilesPort {
  readonly session: Session;
  readonly instance: Instance;
  readonly settings: Pick<Settings, "update_environment">;
  readonly logger: Pick<Logger, "warn">;
}

export class TerminalVariableFiles implements Disposable {
  private readonly path: string;
  private writeCount = 0;
  private hasFailed = false;
  private timer: Timer | null = null;

  constructor(private readonly port: TerminalVariableFilesPort) {
    this.path = variablesFilePath(port.instance);
    port.session.events.on("viewer", (change) => this.viewerChanged(change));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    if (this.writeCount === 0) return;
    for (const path of [this.path, `${this.path}.fish`]) removeIfPossible(path);
  }

  private viewerChanged({ event, viewer: { variables } }: ViewerChange): void {
    const { session, settings, instance } = this.port;
    if (variables === null || (event !== "attached" && event !== "detached")) return;
    this.attempt(() => linkAgent(instance, event === "attached" ? (variables.SSH_AUTH_SOCK ?? null) : null));
    if (event === "detached") {
      this.timer ??= setTimeout(() => {
        this.timer = null;
        this.attempt(() => linkAgent(instance, null));
      }, SSH_AGENT_CHECK_MS).unref();
    } else this.attempt(() => session.terminalVariables.update(variables, broughtNames(settings)) && this.write());
  }

  private attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!this.hasFailed)
        this.port.logger.warn("shells do not learn where the attached terminal's agent is", { error });
      this.hasFailed = true;
    }
  }

  private write(): void {
    const { terminalVariables, isPrivate } = this.port.session;
    if (isPrivate) return;
    const directory = join(this.path, "..");
    ensureOwnDir(directory);
    if (this.writeCount === 0) removeLeftovers(directory);
    const variables = Object.entries(terminalVariables.variables).map(([name, value]) => {
      return { name, value, given: terminalVariables.issuedValues(name) };
    });
    const stamp = `${Date.now()}-${++this.writeCount}`;
    replaceOwnFile(this.path, refreshFile(variables, "sh", stamp));
    replaceOwnFile(`${this.path}.fish`, refreshFile(variables, "fish", stamp));
  }
}

/** Removes files of killed processes. */
function removeLeftovers(directory: string): void {
  for (const file of fs.readdirSync(directory)) {
    const [, pid] = /^(\d+)(?:\.fish)?$/.exec(file) ?? [];
    if (pid !== undefined && !platform().processes.isAlive(Number(pid))) removeIfPossible(join(directory, file));
  }
}
