/** Completions as a zsh script, for `eval` or as a function file. */
import type { CompletionCommand, CompletionOption, Value } from "./model.ts";

export function zshCompletions(commands: readonly CompletionCommand[]): string {
  return `#compdef wsh
_wsh_sessions() {
  local -a names there
  [[ $PREFIX == */* ]] && there=(--server "\${PREFIX%%/*}")
  names=(\${(f)"$(wsh $instance list --names $there </dev/null 2>/dev/null)"})
  compadd -a names
}
_wsh() {
  local context state state_descr line
  typeset -A opt_args
  local -a instance
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    case $words[i] in
      --) break ;;
      -L|--server-name|--socket) instance=($words[i] \${(Q)words[i+1]}) ;;
      -L*|--server-name=*|--socket=*) instance=(\${(Q)words[i]}) ;;
    esac
  done
  _arguments -C -A '-*' '(-L --server-name)'{-L,--server-name}'[instance to use]:name:' '--socket[its HTTP socket]:path:_files' \\
    '(- *)'{-h,--help}'[show the help]' '(- *)'{-V,--version}'[print the version]' '1: :->command' '*:: :->arguments'
  case $state in
    command)
      local -a commands
      commands=(
${commands.flatMap(({ names, summary }) => names.map((name) => `        ${quote(`${name}:${summary}`)}`)).join("\n")}
      )
      _describe command commands ;;
    arguments)
      case $line[1] in
${commands.map(branch).join("\n")}
      esac ;;
  esac
}
if [ "$funcstack[1]" = _wsh ]; then _wsh "$@"; else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
  compdef _wsh wsh
fi
`;
}

function branch({ names, options, values, rest }: CompletionCommand): string {
  const specs = [
    ...options.map(optionSpec),
    ...values.map((value, index) =>
      quote(`${rest && index === values.length - 1 ? "*" : index + 1}: :${action(value)}`),
    ),
  ];
  return `        ${names.join("|")}) _arguments ${specs.join(" ")} ;;`;
}

function optionSpec({ short, long, summary, value }: CompletionOption): string {
  const text = `[${summary.replace(/[[\]:]/g, "\\$&")}]${value === null ? "" : `:value:${action(value)}`}`;
  if (short === null || long === null) return quote(`${long ?? short ?? ""}${text}`);
  return `'(${short} ${long})'{${short},${long}}${quote(text)}`;
}

function action(value: Value): string {
  switch (value.kind) {
    case "choices":
      return `(${value.choices.join(" ")})`;
    case "session":
      return "_wsh_sessions";
    case "path":
      return "_files";
    case "other":
      return "_default";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
