/**
 * `wsh tmux`: tmux's commands on wsh's sessions. This file has its help; cli/tmux/command-line.ts parses a run as tmux
 * does.
 */
import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("tmux [args...]")
    .usage("[-C] [-L NAME] [-S PATH] [-V] [COMMAND [ARGS…] [; COMMAND…]]")
    .description(
      "Run a command line of tmux 3.3a on wsh's sessions, windows and panes, for programs that drive tmux.\n" +
        "Targets, formats, error texts and exit codes are tmux's; unsupported commands fail: see docs/tmux.md.\n" +
        "`wsh tmux list-commands` lists the commands.",
    )
    .allowUnknownOption();
}
