/**
 * Determines a command's own processes (docs/protocol.md, Conditions): those that the shell has started since the
 * prompt at which the command was typed. Older processes belong to earlier commands. Stored for the newest commands
 * only.
 */
import { type PortAnchor, presentMoment } from "../../platform/listening.ts";
import type { Moment } from "../../platform/port.ts";
import type { ProgramPort } from "../ports.ts";
import type { CommandLog } from "./command-log.ts";

/** Commands with a stored start; for an older one every process of the session counts. */
const KEPT = 64;

export class CommandStarts {
  private readonly moments = new Map<number, Moment>();
  /** Time of the first prompt after the last command: a redrawn prompt may follow the next command's start. */
  private atPrompt: Moment | null = null;

  constructor(
    private readonly program: ProgramPort,
    private readonly log: CommandLog,
  ) {
    log.on({
      prompt: () => {
        this.atPrompt ??= presentMoment();
      },
      started: ({ id }) => this.started(id),
    });
  }

  /**
   * The processes of a command; of the running one when none is named, and of the whole session when none runs.
   */
  anchor(commandId: number | undefined): PortAnchor {
    const { pid } = this.program;
    const id = commandId ?? this.log.runningCommand?.id;
    const since = id === undefined ? null : (this.moments.get(id) ?? null);
    return { pid, since, foreground: () => this.program.foreground() };
  }

  private started(id: number): void {
    if (this.atPrompt !== null) this.moments.set(id, this.atPrompt);
    this.atPrompt = null;
    for (const old of this.moments.keys()) {
      if (this.moments.size <= KEPT) break;
      this.moments.delete(old);
    }
  }
}
