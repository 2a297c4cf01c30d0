/** Completions as a fish script. */
import type { CompletionCommand, CompletionOption, Value } from "./model.ts";

/** Prints the sessions of the instance that the command line names. */
const sessions = `function __wsh_sessions
  set -l words (commandline -opc)
  set -l instance
  for at in (seq 2 (count $words))
    switch $words[$at]
      case --
        break
      case -L --server-name --socket
        set instance $words[$at] $words[(math $at + 1)]
      case '-L*' '--server-name=*' '--socket=*'
        set instance $words[$at]
    end
  end
  set -l there
  set -l typed (commandline -ct)
  if string match -q '*/*' -- $typed
    set there --server (string split -m 1 / -- $typed)[1]
  end
  wsh $instance list --names $there </dev/null 2>/dev/null
end`;

export function fishCompletions(commands: readonly CompletionCommand[]): string {
  const names = commands.flatMap((command) => command.names);
  const noSubcommand = `not __fish_seen_subcommand_from ${names.join(" ")}`;
  return `${[
    sessions,
    "complete -c wsh -e",
    "complete -c wsh -f",
    `complete -c wsh -n ${quote(noSubcommand)} -s L -l server-name -x -d 'instance to use'`,
    `complete -c wsh -n ${quote(noSubcommand)} -l socket -r -d 'its HTTP socket'`,
    `complete -c wsh -n ${quote(noSubcommand)} -s h -l help -d 'show the help'`,
    `complete -c wsh -n ${quote(noSubcommand)} -s V -l version -d 'print the version'`,
    ...commands.flatMap((command) => [
      ...command.names.map(
        (name) => `complete -c wsh -n ${quote(noSubcommand)} -a ${name} -d ${quote(command.summary)}`,
      ),
      ...inCommand(command),
    ]),
  ].join("\n")}\n`;
}

function inCommand({ names, options, values }: CompletionCommand): string[] {
  const seen = quote(`__fish_seen_subcommand_from ${names.join(" ")}`);
  const offered = [...new Set(values.flatMap((value) => valueWords(value) ?? []))];
  return [
    ...options.map((option) => `complete -c wsh -n ${seen} ${flags(option)} -d ${quote(option.summary)}`),
    ...offered.map((list) => `complete -c wsh -n ${seen} -a ${quote(list)}`),
  ];
}

function flags({ short, long, value }: CompletionOption): string {
  const names = [short === null ? "" : `-s ${short.slice(1)}`, long === null ? "" : `-l ${long.slice(2)}`];
  const list = value === null ? null : valueWords(value);
  const valueFlags = value === null ? "" : value.kind === "path" ? "-r -F" : "-x";
  return [...names, valueFlags, list === null ? "" : `-a ${quote(list)}`].filter((part) => part !== "").join(" ");
}

function valueWords(value: Value): string | null {
  switch (value.kind) {
    case "choices":
      return value.choices.join(" ");
    case "session":
      return "(__wsh_sessions)";
    case "path":
    case "other":
      return null;
  }
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
