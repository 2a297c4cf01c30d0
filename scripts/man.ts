/**
 * The manual page, made from the program's own commands and options, so that it cannot tell anything else than
 * `wsh --help` does. `bun scripts/man.ts` writes docs/wsh.1; a test compares that file with what this makes.
 */
import { join } from "node:path";
import type { Command, Option } from "commander";
import { catalog } from "../src/cli/catalog.ts";
import { wholeProgram } from "../src/cli/parser.ts";
import { VERSION } from "../src/protocol/version.ts";
import { settingNames, settingOf } from "../src/settings/table.ts";

/** Text as roff takes it: no escapes, no line that looks like a request. */
function roff(text: string): string {
  return text
    .replace(/\\/g, "\\e")
    .replace(/-/g, "\\-")
    .replace(/^([.'])/gm, "\\&$1");
}

function option({ flags, description }: Option): string {
  return `.TP\n.B ${roff(flags)}\n${roff(description)}`;
}

function command(one: Command, usage: string): string {
  const options = one.options.filter((each) => !each.hidden);
  const text = one.description().split("\n").map(roff).join("\n.br\n");
  const indented = options.length === 0 ? "" : `\n.RS\n${options.map(option).join("\n")}\n.RE`;
  return `.TP\n.B wsh ${roff(one.name())} ${roff(usage)}\n${text}${indented}`;
}

export async function manual(): Promise<string> {
  const program = await wholeProgram();
  const byName = new Map(program.commands.map((each) => [each.name(), each]));
  const groups = catalog.map(({ title, entries }) => {
    const commands = entries.flatMap(({ name, usage }) => {
      const found = byName.get(name);
      return found === undefined ? [] : [command(found, usage)];
    });
    return `.SS ${roff(title)}\n${commands.join("\n")}`;
  });
  const settings = settingNames.map((name) => {
    const { doc, env } = settingOf(name);
    const variable = env === undefined ? "" : ` (${env})`;
    return `.TP\n.B ${roff(name)}\n${roff(doc)}${roff(variable)}`;
  });
  return `.TH WSH 1 "" "wsh ${VERSION}" "User Commands"
.SH NAME
wsh \\- a terminal multiplexer in which every session is also an API
.SH SYNOPSIS
.B wsh
[\\fIoptions\\fR] [\\fIcommand\\fR]
.SH DESCRIPTION
Without a command,
.B wsh
opens a session with your shell and attaches to it. Ctrl+\\e pressed twice detaches; the session lives on in a process of
its own, and
.B wsh attach
brings you back. The same session can be driven by an agent over MCP, by scripts over HTTP, and by the commands below.
.SH COMMANDS
${groups.join("\n")}
.SH SETTINGS
Keys of
.I $XDG_CONFIG_HOME/wsh/config.toml\\fR.
Flags win over environment variables, these over the file;
.B wsh config
prints every value with its origin.
${settings.join("\n")}
.SH EXIT STATUS
0 on success, 1 when the command failed, 2 when the command line was wrong.
.B wsh exec
exits with the command's own code, 128 plus the number of the signal that ended it, 124 when the time was up, and 125 when
the code is unknown.
.SH FILES
.TP
.I $XDG_RUNTIME_DIR/wsh/ \\fRor\\fI /tmp/wsh\\-UID/
Sockets of servers and sessions; only their owner can enter.
.TP
.I $XDG_STATE_HOME/wsh/
Logs and tokens.
.TP
.I $XDG_CONFIG_HOME/wsh/config.toml
Settings.
`;
}

if (import.meta.main) {
  await Bun.write(join(import.meta.dir, "../docs/wsh.1"), await manual());
  console.log("docs/wsh.1");
}
