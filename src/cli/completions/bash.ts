/** Completions as a bash script. Works with bash 3.2 and without the bash-completion package. */
import type { CompletionCommand, Value } from "./model.ts";

export function bashCompletions(commands: readonly CompletionCommand[]): string {
  return `_wsh_sessions() {
  local there=() name typed quote= special='[\\"$\`]'
  # The typed word: behind an opened quote, or with backslashes.
  case $cur in
    \\'*|\\"*) quote=\${cur:0:1} typed=\${cur:1} ;;
    *) typed=\${cur//\\\\/} ;;
  esac
  case $typed in */*) there=(--server "\${typed%%/*}") ;; esac
  # A name is text of anybody's: compgen -W would expand it.
  while IFS= read -r name; do
    case $name in "$typed"*) ;; *) continue ;; esac
    case $quote in
      '') COMPREPLY+=("$(printf %q "$name")") ;;
      # Inside quotes a name needs no escaping; a name with a quote or another special character is left out.
      \\') [[ $name == *\\'* ]] || COMPREPLY+=("$name") ;;
      *) [[ $name =~ $special ]] || COMPREPLY+=("$name") ;;
    esac
  done < <(wsh \${instance[@]+"\${instance[@]}"} list --names \${there[@]+"\${there[@]}"} </dev/null 2>/dev/null)
}
_wsh() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= position=0 i word instance=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      --) return ;;
      -L|--server-name|--socket) instance=("$word" "\${COMP_WORDS[i+1]}"); ((i++)) ;;
      -L*) instance=("$word") ;;
      -*) ;;
      *) if [ -z "$command" ]; then command=$word; else position=$((position + 1)); fi ;;
    esac
  done
  case $prev in -L|--server-name|--socket) return ;; esac
  case $command in
    '') COMPREPLY=($(compgen -W "${commands.flatMap(({ names }) => names).join(" ")} --help --version -L --socket" -- "$cur")) ;;
${commands.map(caseBranch).join("\n")}
  esac
}
complete -o default -F _wsh wsh
`;
}

function caseBranch({ names, options, values, rest }: CompletionCommand): string {
  const flags = options.flatMap(({ long, short }) => long ?? short ?? []);
  const valued = options.flatMap(({ value, long, short }) => {
    const words = value === null ? null : action(value);
    return words === null
      ? []
      : [`        ${[short, long].filter((flag) => flag !== null).join("|")}) ${words}; return ;;`];
  });
  const positions = values.flatMap((value, index) => {
    const words = action(value);
    const last = rest && index === values.length - 1;
    return words === null ? [] : [`        ${last ? "*" : index}) ${words} ;;`];
  });
  return [
    `    ${names.join("|")})`,
    ...(valued.length === 0 ? [] : ["      case $prev in", ...valued, "      esac"]),
    `      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "${flags.join(" ")}" -- "$cur")); return; fi`,
    ...(positions.length === 0 ? [] : ["      case $position in", ...positions, "      esac"]),
    "      ;;",
  ].join("\n");
}

/** The statement that completes a value; null for bash's own completion. */
function action(value: Value): string | null {
  switch (value.kind) {
    case "choices":
      return `COMPREPLY=($(compgen -W "${value.choices.join(" ")}" -- "$cur"))`;
    case "session":
      return "_wsh_sessions";
    case "path":
    case "other":
      return null;
  }
}
