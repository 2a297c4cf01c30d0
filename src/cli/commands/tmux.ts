/** `wsh tmux`: tmux's commands on wsh's sessions. Its help; a run is read as tmux reads it (cli/tmux/command-line.ts). */
import type { Command } from "commander";

export function register(program: Command): void {
  program
    .command("tmux [args...]")
    .usage("[-C] [-L NAME] [-S PATH] [-V] [COMMAND [ARGS…] [; COMMAND…]]")
    .description(
      "Carry out a command line of tmux 3.3a on wsh's sessions, windows and panes, for programs that drive tmux.\n" +
        "Targets, formats, error texts and exit codes are tmux's; what is not offered fails: see docs/tmux.md.\n" +
        "`wsh tmux list-commands` lists the commands.",
    )
    .allowUnknownOption();
}
