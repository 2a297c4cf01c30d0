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
const MAX_STORED_STARTS = 64;

export class CommandStarts {
  private readonly startMoments = new Map<number, Moment>();
  /** Time of the first prompt after the last command: a redrawn prompt may follow the next command's start. */
  private promptMoment: Moment | null = null;

  constructor(
    private readonly program: ProgramPort,
    private readonly log: CommandLog,
  ) {
    log.on({
      prompt: () => {
        this.promptMoment ??= presentMoment();
      },
      started: ({ id }) => this.noteStart(id),
    });
  }

  /**
   * The processes of a command; of the running one when none is named, and of the whole session when none runs.
   */
  anchor(commandId: number | undefined): PortAnchor {
    const { pid } = this.program;
    const id = commandId ?? this.log.runningCommand?.id;
    const since = id === undefined ? null : (this.startMoments.get(id) ?? null);
    return { pid, since, foreground: () => this.program.foreground() };
  }

  private noteStart(id: number): void {
    if (this.promptMoment !== null) this.startMoments.set(id, this.promptMoment);
    this.promptMoment = null;
    for (const old of this.startMoments.keys()) {
      if (this.startMoments.size <= MAX_STORED_STARTS) break;
      this.startMoments.delete(old);
    }
  }
}
