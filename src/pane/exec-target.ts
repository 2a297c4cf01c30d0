/** The target of exec: the shell that runs commands now (the session's or one inside it), over the pane's program. */
import { execInput } from "../shell/exec-input.ts";
import { type ShellKind, shellKind } from "../shell/plan.ts";
import type { TerminalModel } from "../terminal/model.ts";
import type { Activity } from "./activity.ts";
import type { Commands } from "./commands/commands.ts";
import type { ExecTarget } from "./ports.ts";
import type { Program } from "./program.ts";
import type { PaneOptions } from "./types.ts";

const CTRL_C = Uint8Array.of(3);

interface TargetParts {
  readonly program: Program;
  readonly terminal: TerminalModel;
  readonly options: Pick<PaneOptions, "shell">;
  readonly activity: Activity;
  /** Input is sent for an API. */
  noteSent(): void;
  /** Both work on the target. */
  commands(): Commands;
}

export function createExecTarget({
  program,
  terminal,
  options,
  activity,
  noteSent,
  commands,
}: TargetParts): ExecTarget {
  const { kind, integration } = options.shell;
  const started = integration.active ? kind : "other";
  const present = (): ShellKind => {
    const { child, replacedBy } = commands();
    if (child !== null) return child.kind;
    return replacedBy === null ? started : shellKind(replacedBy);
  };
  const isElsewhere = (): boolean => {
    const { child } = commands();
    return child !== null && child.pid === null;
  };
  return {
    get shell() {
      const shell = present();
      return shell === "other" ? null : shell;
    },
    get replacedBy() {
      return commands().replacedBy;
    },
    integrationReason: integration.active ? null : integration.reason,
    get inactiveReason() {
      const { child, inactiveReason } = commands();
      return child === null ? inactiveReason : null;
    },
    get bracketedPaste() {
      return terminal.modes.bracketedPaste;
    },
    write: async (bytes) => {
      noteSent();
      await program.send(bytes);
      activity.record();
    },
    // A signal would reach the program that relays a remote shell's terminal; the key reaches the remote shell.
    interrupt: () => {
      if (isElsewhere()) void program.send(CTRL_C).catch(() => {});
      else program.signal("SIGINT", "foreground");
    },
    kill: () => {
      const { child, log } = commands();
      if (child !== null && log.shellHoldsTerminal() !== false) return false;
      return program.signal("SIGKILL", "job");
    },
    hold: () => {
      noteSent();
      const hold = program.input.hold();
      return {
        write: (bytes) => {
          commands().cookedLine.noteUncounted(bytes);
          return hold.write(bytes);
        },
        endPaste: () => hold.endPaste(),
        [Symbol.dispose]: () => hold[Symbol.dispose](),
      };
    },
    typed: program.input.editor,
    get isWriting() {
      return program.input.isWriting;
    },
    execInput: (command, options) =>
      execInput(command, present(), { bracketedPaste: terminal.modes.bracketedPaste, ...options }),
  };
}
