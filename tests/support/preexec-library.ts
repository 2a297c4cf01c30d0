/** Stands in for a framework that no package offers: its essential lines, rewritten. */

/** As bash-preexec does since 0.5 (atuin and iTerm2 bring it along): a DEBUG trap, and an installation at the first prompt. */
export const preexecLibrary = String.raw`
pl_invoke() { pl_status=$?; for pl_each in "${"$"}{precmd_functions[@]}"; do pl_return "$pl_status"; "$pl_each"; done; }
pl_return() { return "$1"; }
pl_ready() { pl_at_prompt=on; }
pl_debug() {
  [[ -t 1 && -z $COMP_LINE && -n $pl_at_prompt ]] || return 0
  pl_at_prompt=
  local part parts trimmed
  IFS=$'\n;' read -rd '' -a parts <<<"${"$"}{PROMPT_COMMAND[*]}"
  for part in "${"$"}{parts[@]}"; do pl_trim trimmed "$part"; [[ $trimmed == "$BASH_COMMAND" ]] && return 0; done
  local line; line=$(HISTTIMEFORMAT= builtin history 1 | sed '1 s/^ *[0-9][0-9]*[* ] //')
  [[ -n $line ]] || return 0
  for part in "${"$"}{preexec_functions[@]}"; do "$part" "$line"; done
}
pl_trim() { local text=$2; text=${"$"}{text#"${"$"}{text%%[![:space:]]*}"}; text=${"$"}{text%"${"$"}{text##*[![:space:]]}"}; printf -v "$1" %s "$text"; }
pl_clean() { local out; pl_trim out "$2"; out=${"$"}{out%;}; out=${"$"}{out#;}; pl_trim out "$out"; printf -v "$1" %s "$out"; }
pl_later=$'pl_trap=$(trap -p DEBUG)\ntrap - DEBUG\npl_install'
pl_install() {
  [[ ${"$"}{PROMPT_COMMAND[*]} == *pl_invoke* ]] && return 1
  trap 'pl_debug "$_"' DEBUG
  local old=$PROMPT_COMMAND
  old=${"$"}{old//"$pl_later"/:}
  old=${"$"}{old//$'\n:\n'/$'\n'}
  old=${"$"}{old//$'\n:;'/$'\n'}
  pl_clean old "$old"
  [[ $old == : ]] && old=
  PROMPT_COMMAND=pl_invoke
  PROMPT_COMMAND+=${"$"}{old:+$'\n'$old}
  PROMPT_COMMAND+=(pl_ready)
  pl_invoke
  pl_ready
}
pl_clean pl_old "$PROMPT_COMMAND"
PROMPT_COMMAND=${"$"}{pl_old:+$pl_old$'\n'}$pl_later
`;
