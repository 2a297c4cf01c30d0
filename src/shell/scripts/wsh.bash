# wsh shell integration for bash 4.4 and later.
#
# Marks where each prompt and each command begins and ends (OSC 133, 633 and 7), so that wsh knows exit codes and exact
# output. wsh starts bash with this file as --rcfile, or as $ENV of a login shell in posix mode; the file then runs the
# user's own startup files as bash would have. It can also be sourced at the end of ~/.bashrc on another machine.
#
# PS0 prints C, the first element of PROMPT_COMMAND D, and PS1 A and B; the last element of PROMPT_COMMAND wraps PS1
# again whenever the user has changed it. If PROMPT_COMMAND is removed, PS1 prints D, and marks it as late when another
# PROMPT_COMMAND has run before it; the hooks are restored when the line editor is asked. There is no DEBUG trap.
# C is printed only after a prompt with our B, so that every command that begins can be ended by a D. It carries entry=1
# if bash's own history has taken the line, or would have but for the key that hides it.
# A command can run the code of its own prompt (`eval "$PROMPT_COMMAND"`, `echo "${PS1@P}"`). `\#` in PS1 and PS0 is one
# higher there than in @P, which identifies bash's own expansion, the only one in which they print and change anything.
# A D printed by a command is followed by the true one: HISTCMD differs while a command runs.
# A private key asks the line editor for its contents (the section "Line editor").
# The state lives in arrays, which bash never exports; the hooks run with closed output, so that neither `set -x` nor
# the user's own traps show them.

if [[ -z ${WSH_SHELL_INJECT-} && ( -n ${__wsh_ps[0]-} || $- != *i* ) ]]; then
  builtin return 0
fi

# $1 is the status of the command, not passed in a variable, which a user may have made readonly. Old versions parse
# this too; only those that support @P run it.
__wsh_pre() {
  builtin local wsh_number="${HISTCMD-0}" wsh_line wsh_hidden="${__wsh[hidden]-}" || builtin set -- "$1" plain
  __wsh_unhide
  if [[ ${PROMPT_COMMAND[0]-} == "${__wsh_text[pre]}"*"${__wsh_text[tail]}" || ${__wsh_text[array]} != 1 ]]; then
    if [[ ${__wsh[literal]} == 1 ]]; then
      # PS0 could not count: a command ran when bash's own count of commands has moved.
      if [[ ${__wsh_text[number]@P} != "${__wsh[count]}" ]]; then
        __wsh[count]=${__wsh_text[number]@P}
        __wsh[id]=$((__wsh[id] + 1))
        __wsh[open]=1
      fi
    fi
    __wsh_end "$1"
    if [[ ${__wsh[ended]} == 1 ]]; then
      __wsh[ended]=0
      if [[ ${2-} != plain && $wsh_number == "$((__wsh[number] + 1))" ]]; then
        wsh_line=$(HISTTIMEFORMAT='' builtin history 1)
        if [[ $wsh_line =~ ^\ *[0-9]+[\ *]\  ]]; then
          __wsh_escape "${wsh_line:${#BASH_REMATCH[0]}}"
        fi
      fi
    elif [[ ( ${HISTCMD-0} -gt ${__wsh[number]} || ( -n ${wsh_hidden-} && $1 == 2 ) ) && $1 != 0 && ( ${__wsh[open]} == 0 || ${__wsh[literal]} == 1 ) ]]; then
      # A line was read and nothing ran: a syntax error.
      __wsh[id]=$((__wsh[id] + 1))
      builtin printf '\e]133;D;%s%s;id=%s\a' "$1" "${__wsh_text[key]}" "${__wsh[id]}" >/dev/tty
    fi
  fi
  if [[ ${wsh_hidden-} == later && ${HISTCMD-0} == "$((__wsh[number] + 1))" ]]; then
    builtin history -d "$((HISTCMD - 1))"
  fi
  __wsh_marks 8
  if [[ ${__wsh_text[array]} == 1 ]]; then
    if [[ ${__wsh[last]} == 0 ]]; then
      # Our prompt was changed at the prompt, or PROMPT_COMMAND builds it: check again.
      __wsh_wrapped || __wsh[last]=1
      __wsh_prepare
    fi
    builtin return 0
  fi
  # For the user's own hooks, which follow in the same string before 5.1.
  builtin return "$1"
}

# Prints D for a command that ended with $1, once for each HISTCMD: the command itself may have made us run.
__wsh_end() {
  if [[ ${__wsh[open]} == 1 || ( ${__wsh[open]} == 2 && ${HISTCMD-0} != "${__wsh[seen]}" ) ]]; then
    __wsh[open]=2
    __wsh[seen]=${HISTCMD-0}
    __wsh[ended]=1
    # Under `set -v` bash has printed the hook while reading it.
    [[ $- != *v* ]] || builtin set -- "$1" ';verbose=1'
    builtin printf '\e]133;D;%s%s;id=%s%s\a' "$1" "${__wsh_text[key]}" "${__wsh[id]}" "${2-}" >/dev/tty
  fi
}

# Prints 633;E for $1: a backslash doubled, control characters and semicolons as \xHH.
__wsh_escape() {
  builtin local wsh_rest wsh_out='' wsh_part wsh_hex || builtin return 0
  wsh_rest=${1//\\/\\\\}
  wsh_rest=${wsh_rest//;/\\x3b}
  wsh_rest=${wsh_rest//$'\n'/\\x0a}
  wsh_rest=${wsh_rest//$'\t'/\\x09}
  while [[ $wsh_rest == *[[:cntrl:]]* ]]; do
    wsh_part=${wsh_rest%%[[:cntrl:]]*}
    wsh_rest=${wsh_rest:${#wsh_part}}
    builtin printf -v wsh_hex '\\x%02x' "'${wsh_rest:0:1}"
    wsh_out+=$wsh_part$wsh_hex
    wsh_rest=${wsh_rest:1}
  done
  builtin printf '\e]633;E;%s%s\a' "$wsh_out$wsh_rest" "${__wsh_text[nonce]:+;${__wsh_text[nonce]}}" >/dev/tty
}

# Sets __wsh[url] to OSC 7's path for $PWD.
__wsh_url() {
  builtin local LC_ALL=C
  builtin local wsh_i wsh_char wsh_hex || builtin return 0
  __wsh[pwd]=$PWD
  __wsh[url]=''
  if [[ $PWD != *[!A-Za-z0-9/._~-]* ]]; then
    __wsh[url]=$PWD
    builtin return 0
  fi
  for ((wsh_i = 0; wsh_i < ${#PWD}; wsh_i++)); do
    wsh_char=${PWD:wsh_i:1}
    if [[ $wsh_char == [A-Za-z0-9/._~-] ]]; then
      __wsh[url]+=$wsh_char
    else
      builtin printf -v wsh_hex '%d' "'$wsh_char"
      builtin printf -v wsh_hex '%%%02X' "$((wsh_hex & 255))"
      __wsh[url]+=$wsh_hex
    fi
  done
}

# Last element of PROMPT_COMMAND. A user's DEBUG trap would see it as a command after theirs, which would disturb a trap
# that measures time; with such a trap, and unless PROMPT_COMMAND builds the prompt, it removes itself.
__wsh_post() {
  if [[ ${__wsh[traced]} == 1 ]] && __wsh_wrapped; then
    __wsh[last]=0
  fi
  __wsh_prepare
  builtin return 0
}

# Takes the variables of the terminal that was attached since: wsh writes the file anew.
__wsh_refresh() {
  builtin local wsh_stamp='' || builtin return 0
  if [[ -n ${WSH_ENVIRONMENT-} && -O $WSH_ENVIRONMENT ]]; then
    builtin read -r wsh_stamp <"$WSH_ENVIRONMENT" || :
    if [[ $wsh_stamp != "${__wsh[environment]-}" ]]; then
      __wsh[environment]=$wsh_stamp
      builtin . "$WSH_ENVIRONMENT" || :
    fi
  fi
}

__wsh_wrapped() {
  [[ ${PS1-} == "${__wsh[start]}"*"${__wsh[end]}" ]]
}

__wsh_prepare() {
  __wsh[number]=${HISTCMD-0}
  __wsh_refresh
  if [[ ${PWD-} != "${__wsh[pwd]-}" ]]; then
    __wsh_url
  fi
  if ! __wsh_lent; then
    __wsh_wrap
    __wsh_arrange
  fi
  __wsh_keys
}

# What PS1 and PS0 expand: marks, written by the line editor with the prompt, or, where its output ($1: an open
# descriptor that is like it) is no terminal (`exec 2>FILE`), by a process to the terminal itself.
__wsh_marks() {
  builtin local wsh_to='' wsh_end='' || builtin return 0
  if [[ -n ${1-} && ! -t $1 ]]; then
    wsh_to='$(builtin printf %s "'
    wsh_end='" >/dev/tty 2>/dev/null)'
  fi
  if [[ ${__wsh[to]-unset} == "$wsh_to" ]]; then
    builtin return 0
  fi
  __wsh[to]=$wsh_to
  __wsh_ps=(
    '${__wsh[n$((__wsh[now]==__wsh[count]))]+'"$wsh_to"'${__wsh[d$((__wsh[open]==1))]+'$'\e'']133;D;$?'"${__wsh_text[key]}"';id=${__wsh[id]}${PROMPT_COMMAND[*]:+;late=1}'$'\a''}'$'\e'']7;file://${HOSTNAME-}${__wsh[url]-}'$'\a\e'"]133;A${__wsh_text[key]}"$'\a'"$wsh_end"'${0:0*(__wsh[open]=0):0}}'
    '${__wsh[n$((__wsh[now]==__wsh[count]))]+'"$wsh_to"$'\e'"]133;B${__wsh_text[key]}"$'\a'"$wsh_end"'}'
    '${__wsh[p${PS1%%*__wsh_ps*}]+${__wsh[n$((__wsh[now]==__wsh[count]))]+${0:0*(__wsh[count]=__wsh[now],__wsh[open]==1||(__wsh[id]+=1,__wsh[open]=1)):0}'"$wsh_to"$'\e'"]133;C${__wsh_text[key]}"';id=${__wsh[id]};entry=$((${HISTCMD-0}>__wsh[number]${__wsh[hidden]:+||1}))'$'\a'"$wsh_end"'}}'
  )
}

# Puts our marks around PS1 and after PS0, unless they are present or the variable is readonly.
__wsh_wrap() {
  builtin local wsh_start='\[${__wsh_ps[0]+${0:0*(__wsh[now]=\#):0}${__wsh_ps[0]@P}}\]' wsh_end='\[${__wsh_ps[1]+${__wsh_ps[1]@P}}\]'
  builtin local wsh_bare wsh_seam wsh_run='${__wsh_ps[2]+${0:0*(__wsh[now]=\#):0}${__wsh_ps[2]@P}}' || builtin return 0
  __wsh[literal]=0
  if ! builtin shopt -q promptvars; then
    # Prompts expand no variables: they contain the marks themselves.
    __wsh[literal]=1
    __wsh[count]=${__wsh_text[number]@P}
    wsh_start='\['$'\e'"]7;file://${HOSTNAME-}${__wsh[url]-}"$'\a\e'"]133;A${__wsh_text[key]}"$'\a''\]'
    wsh_end='\['$'\e'"]133;B${__wsh_text[key]}"$'\a''\]'
    wsh_run=$'\e'"]133;C${__wsh_text[key]};id=$((__wsh[id] + 1))"$'\a'
  fi
  if [[ ${PS1-} != "$wsh_start"*"${__wsh[end]}" || ${__wsh[end]} != *"$wsh_end" ]] && [[ ${PS1+${PS1@a}} != *r* ]]; then
    wsh_bare=${PS1-}
    wsh_bare=${wsh_bare//"${__wsh[start]}"/}
    wsh_bare=${wsh_bare//"${__wsh[end]}"/}
    __wsh_seam "$wsh_bare"
    wsh_end=$wsh_seam$wsh_end
    if [[ $- == *a* && ${PS1+${PS1@a}} != *x* ]]; then
      PS1=$wsh_start$wsh_bare$wsh_end
      builtin export -n PS1
    else
      PS1=$wsh_start$wsh_bare$wsh_end
    fi
    __wsh[end]=$wsh_end
  fi
  __wsh[start]=$wsh_start
  if [[ ${PS0-} != *"${__wsh[run]}" || ${__wsh[run]} != *"$wsh_run" ]] && [[ ${PS0+${PS0@a}} != *r* ]]; then
    wsh_bare=${PS0-}
    wsh_bare=${wsh_bare//"${__wsh[run]}"/}
    __wsh_seam "$wsh_bare"
    wsh_run=$wsh_seam$wsh_run
    if [[ $- == *a* && ${PS0+${PS0@a}} != *x* ]]; then
      PS0=$wsh_bare$wsh_run
      builtin export -n PS0
    else
      PS0=$wsh_bare$wsh_run
    fi
    __wsh[run]=$wsh_run
  fi
}

# Sets wsh_seam to the text between $1, a part of a prompt, and ours, so that each is read separately. Prompts are read
# twice: escapes first, then expansions. A final backslash would consume our first character in the first reading, one
# left over from a pair would quote our `$` in the second, and a final `$` would join it to `$$`.
__wsh_seam() {
  builtin local wsh_slashes="${1##*[!\\]}" wsh_left || builtin return 0
  wsh_seam=''
  if ((${#wsh_slashes} % 2 == 1)); then
    wsh_seam=\\
  fi
  if [[ ${__wsh[literal]} == 1 ]]; then
    builtin return 0
  fi
  wsh_left=$(((${#wsh_slashes} + 1) / 2))
  if [[ $1 == *\\134 ]]; then
    # The octal form of one, unless its own backslash belongs to a pair.
    wsh_slashes=${1%134}
    wsh_slashes=${wsh_slashes##*[!\\]}
    if ((${#wsh_slashes} % 2 == 1)); then
      wsh_left=$(((${#wsh_slashes} + 1) / 2))
    fi
  fi
  if ((wsh_left % 2 == 1)); then
    wsh_seam+=\\\\
  elif [[ $1 == *\$ ]]; then
    # A backslash before a newline vanishes in the second reading.
    wsh_seam+=\\\\$'\n'
  fi
}

# Puts our hooks first and last. The user's changes over or around them are kept as if ours had not been there. For the
# user $PROMPT_COMMAND is element 0, so ours contains a copy of their own first one, in a loop that never runs: code
# that searches it or adds to it finds the expected text, and the change is moved to the right place.
__wsh_arrange() {
  builtin local wsh_all wsh_item wsh_inner wsh_after || builtin return 0
  if [[ ${__wsh_text[array]} != 1 ]]; then
    wsh_all=${PROMPT_COMMAND-}
    if [[ $wsh_all != "${__wsh_text[pre]}"$'\n'*$'\n'"${__wsh_text[post]}" ]]; then
      wsh_all=${wsh_all//"${__wsh_text[pre]}"/:}
      wsh_all=${wsh_all//"${__wsh_text[post]}"/:}
      # As an element of an array it is never exported to child shells; these versions run element 0.
      PROMPT_COMMAND[0]=${__wsh_text[pre]}$'\n'$wsh_all$'\n'${__wsh_text[post]}
    fi
    builtin return 0
  fi
  wsh_all=("${PROMPT_COMMAND[@]}")
  wsh_item=${wsh_all[0]-}
  if [[ $wsh_item == "${__wsh_hooked[0]}" ]]; then
    if [[ ${wsh_all[*]} == "${__wsh_hooked[*]}" && ${__wsh[last]} == "${__wsh[hooked]}" ]]; then
      builtin return 0
    fi
  else
    # Code that rewrites PROMPT_COMMAND may have joined its lines, so ours are found by a part that survives this.
    while [[ $wsh_item == *"${__wsh_text[pre]%$'\n'}"*"${__wsh_text[tail]#$'\n'}"* ]]; do
      wsh_inner=${wsh_item#*"${__wsh_text[pre]%$'\n'}"}
      wsh_after=${wsh_inner#*"${__wsh_text[tail]#$'\n'}"}
      wsh_inner=${wsh_inner%%"${__wsh_text[tail]#$'\n'}"*}
      wsh_item=${wsh_item%%"${__wsh_text[pre]%$'\n'}"*}$'\n'${wsh_inner##[[:space:];]}$'\n'${wsh_after##[[:space:];]}
      while [[ $wsh_item == [[:space:]\;]* ]]; do
        wsh_item=${wsh_item:1}
      done
      while [[ $wsh_item == *[[:space:]] ]]; do
        wsh_item=${wsh_item::-1}
      done
    done
    if [[ -n ${__wsh_user[0]-} && ${wsh_all[1]-} == "${__wsh_user[0]}" ]]; then
      wsh_all[1]=$wsh_item
    else
      wsh_all=('' "$wsh_item" "${wsh_all[@]:1}")
    fi
  fi
  __wsh_user=()
  for wsh_item in "${wsh_all[@]:1}"; do
    if [[ -n $wsh_item && $wsh_item != "${__wsh_text[post]}" ]]; then
      __wsh_user+=("$wsh_item")
    fi
  done
  __wsh_hook
}

__wsh_hook() {
  __wsh_hooked=("${__wsh_text[pre]}${__wsh_user[0]-}${__wsh_text[tail]}" "${__wsh_user[@]}")
  __wsh[hooked]=${__wsh[last]}
  if [[ ${__wsh[last]} == 1 ]]; then
    __wsh_hooked+=("${__wsh_text[post]}")
  fi
  PROMPT_COMMAND=("${__wsh_hooked[@]}")
}

# Line editor. wsh types a command only into an empty line, and asks the editor itself: the private keys CSI 9371 z and
# CSI 9372 z are answered with a mark that contains the line, CSI 9373 z clears it, CSI 9374 z keeps what is entered next
# out of bash's own history. Each is a macro of a second key, since readline finds no command for a key that ended an
# incremental search. A key whose sequence was cut (by a quoted insert, or a lone ESC before it) leaves its rest in the
# line: the next key removes it.
__wsh_ask() {
  __wsh[line]=${READLINE_LINE-}
  if [[ ${__wsh[line]} == *'[937'[1234]z* ]]; then
    __wsh[line]=${__wsh[line]//$'\e['937[1234]z/}
    __wsh[line]=${__wsh[line]//'[937'[1234]z/}
    READLINE_LINE=${__wsh[line]}
    READLINE_POINT=${#READLINE_LINE}
  fi
  if [[ $1 == 3 ]]; then
    READLINE_LINE=''
    READLINE_POINT=0
    builtin return 0
  fi
  if [[ $1 == 4 ]]; then
    __wsh_lent || __wsh_arrange
    # Without bash's word for the line, the line as shown decides what ran: no older text may follow it.
    builtin printf '\e[J' >/dev/tty
    __wsh_hide
    builtin return 0
  fi
  __wsh[length]=${#READLINE_LINE}
  __wsh[line]=${__wsh[line]:0:256}
  __wsh[line]=${__wsh[line]//\\/\\\\}
  __wsh[line]=${__wsh[line]//;/\\x3b}
  __wsh[line]=${__wsh[line]//[[:cntrl:]]/ }
  builtin printf '\e]633;L;%s;%s;q=%s;length=%s;map=%s;%s\a' "${__wsh[line]}" "${__wsh_text[nonce]}" "$1" "${__wsh[length]}" "$2" "${3:-redraws=1}" >/dev/tty
  # Assignments at the prompt. Last, since a readonly PROMPT_COMMAND ends the function here.
  __wsh_lent || __wsh_arrange
  builtin return 0
}

# Until the next prompt. bash-preexec reads the line from the history, so there it goes afterwards.
__wsh_hide() {
  if [[ -n ${__wsh[hidden]-} || ${HISTIGNORE+${HISTIGNORE@a}} == *r* ]]; then
    builtin return 0
  fi
  if builtin declare -F __bp_preexec_invoke_exec; then
    __wsh[hidden]=later
  else
    __wsh[hidden]=${HISTIGNORE+set=}${HISTIGNORE-unset}
    HISTIGNORE='*'
  fi
}

__wsh_unhide() {
  if [[ ${HISTIGNORE-} == '*' ]]; then
    case ${__wsh[hidden]-} in
      set=*) HISTIGNORE=${__wsh[hidden]#set=} ;;
      unset) builtin unset -v HISTIGNORE ;;
    esac
  fi
  __wsh[hidden]=''
}

# Binds the keys, once, and again when the editor was replaced or has another mode: each map takes 0.2 ms of a start.
__wsh_keys() {
  builtin local wsh_editor=emacs-standard wsh_map wsh_kind wsh_n || builtin return 0
  if [[ -n ${BLE_ATTACHED-} ]] && builtin declare -F ble-bind >/dev/null; then
    wsh_editor=ble.sh
  elif [[ -o vi ]]; then
    wsh_editor='vi-insert vi-command'
  fi
  if [[ ${__wsh[keys]-} == "$wsh_editor" ]]; then
    builtin return 0
  fi
  __wsh[keys]=$wsh_editor
  builtin unset -v '__wsh[n1]'
  if [[ $wsh_editor == ble.sh ]]; then
    __wsh_ble_keys
    builtin return 0
  fi
  for wsh_map in emacs-standard vi-insert vi-command; do
    [[ $wsh_editor == *"$wsh_map"* ]] || builtin continue
    wsh_kind=''
    [[ $wsh_map != vi-command ]] || wsh_kind=vi-command
    for wsh_n in 1 2 3 4; do
      builtin bind -m "$wsh_map" -x '"\e[938'"$wsh_n"'z": { __wsh_ask '"$wsh_n '$wsh_kind' ''"' "$_" || :; } >/dev/null 2>&1'
    done
    builtin bind -m "$wsh_map" '"\e[9371z": "\e[9381z"' '"\e[9372z": "\e[9382z"' '"\e[9373z": "\e[9383z"' '"\e[9374z": "\e[9384z"'
  done
}

# ble.sh, an editor written in bash, replaces readline. While it edits, it stores the user's PS1 and PROMPT_COMMAND and
# replaces them with others, or none: changes to those are lost, or do harm.
__wsh_lent() {
  [[ -n ${BLE_ATTACHED-} && ${#PROMPT_COMMAND[@]} == 0 ]]
}

# It discards sequences without a key, so ours become keys first. A line that continues stays in its editor, which thus
# answers for all of it. Its hook prints D before its own lines (`[ble: exit 5]`).
__wsh_ble_keys() {
  builtin local wsh_map wsh_kind wsh_n
  # It reads prompts itself, through @P.
  __wsh[n1]=1
  for wsh_n in 1 2 3 4; do
    ble-bind -k "ESC [ 9 3 7 $wsh_n z" "wsh_key_$wsh_n"
    for wsh_map in emacs vi_imap vi_nmap; do
      wsh_kind=''
      [[ $wsh_map != vi_nmap ]] || wsh_kind=vi-command
      ble-bind -m "$wsh_map" -x "wsh_key_$wsh_n" "{ __wsh_ask $wsh_n '$wsh_kind' ble=1 || :; } >/dev/null 2>&1"
    done
  done
  blehook POSTEXEC!=__wsh_ble_end
}

__wsh_ble_end() {
  __wsh_end "$?" >/dev/null 2>&1
  __wsh[open]=0
}

# Attached within .bashrc, it has drawn its first prompt, and stored it, before us.
__wsh_ble_install() {
  builtin local wsh_name
  for wsh_name in ble-edit/restore-PS1 ble-edit/adjust-PS1 'ble/textarea#redraw' ble/util/buffer.flush; do
    builtin declare -F "$wsh_name" >/dev/null || builtin return 1
  done
  ble-edit/restore-PS1
  __wsh_set_up
  ble-edit/adjust-PS1
  'ble/textarea#redraw'
  ble/util/buffer.flush >/dev/tty
  builtin return 0
}

__wsh_install() {
  # A restricted shell refuses the redirections of the hooks.
  if [[ $- == *r* ]]; then
    builtin return 0
  fi
  if [[ -n ${BLE_ATTACHED-} ]] && __wsh_ble_install; then
    builtin return 0
  fi
  __wsh_set_up
}

__wsh_set_up() {
  # Startup files, above all a login shell's, may have rebuilt PATH.
  if [[ ${WSH_BIN-} == */wsh ]] && ! builtin type -P wsh; then
    PATH=${PATH:+$PATH:}${WSH_BIN%/*}
  fi
  if [[ -n ${WSH_TMUX_BIN-} ]] && ! builtin type -P tmux; then
    PATH=${PATH:+$PATH:}$WSH_TMUX_BIN
  fi
  __wsh[number]=${HISTCMD-0}
  __wsh_wrap
  __wsh_keys
  __wsh_user=()
  if [[ ${__wsh_text[array]} == 1 && -n ${PROMPT_COMMAND[*]-} ]]; then
    __wsh_user=("${PROMPT_COMMAND[@]}")
  fi
  # Last, since a readonly PROMPT_COMMAND ends the function here; PS1 then prints D.
  if [[ ${__wsh_text[array]} == 1 ]]; then
    __wsh_hook
  else
    __wsh_arrange
  fi
  builtin return 0
}

__wsh_return() {
  builtin return "$1"
}

builtin declare -A __wsh __wsh_text 2>/dev/null
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  __wsh=([open]=0 [ended]=0 [id]=0 [number]=0 [status]=0 [literal]=0 [traced]=0 [last]=1 [now]=0 [count]=-1 [seen]='' [start]='' [end]='' [run]='')
  __wsh_text=(
    [array]=0
    [nonce]=''
    [key]=''
    [number]='\#'
    [pre]='{ __wsh_pre "$?" && :; } 8>&2 >/dev/null 2>&1'
    [tail]=''
    [post]='{ __wsh_post; } >/dev/null 2>&1'
  )
  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
    __wsh_text[array]=1
    __wsh_text[pre]=$'{ __wsh_pre "$?"; for __wsh_user in; do :\n'
    __wsh_text[tail]=$'\ndone; } 8>&2 >/dev/null 2>&1'
  fi
  if [[ -n ${WSH_SHELL_KEY-} ]]; then
    # The marks' secret is read once, and removed before anything else runs.
    { builtin read -r '__wsh_text[nonce]' <"$WSH_SHELL_KEY" && : >|"$WSH_SHELL_KEY"; } 2>/dev/null
    __wsh[file]=$WSH_SHELL_KEY
    __wsh_text[key]=${__wsh_text[nonce]:+;wsh=${__wsh_text[nonce]}}
  fi
  # Expanded by PS1 and PS0 through @P. `${0:0*(...):0}` is empty and runs the arithmetic. Key n0 exists and n1 does not,
  # so that they print where `now` is not the number of the command that began last; d1 and not d0, so that PS1 prints D
  # only when no hook has; p alone, so that PS0 prints C only while PS1 contains our B.
  __wsh[n0]=1
  __wsh[d1]=1
  __wsh[p]=1
  __wsh_marks
else
  [[ -z ${WSH_SHELL_KEY-} ]] || { : >|"$WSH_SHELL_KEY"; } 2>/dev/null
  builtin printf '\e]633;P;WshInactive=bash %s is older than 4.4\a' "${BASH_VERSION-}" >/dev/tty
fi

if [[ -n ${WSH_SHELL_INJECT-} ]]; then
  # Undoes changes by --posix and our own variables before the user's files are read.
  if [[ $WSH_SHELL_INJECT == *login* ]]; then
    builtin set +o posix
    builtin shopt -u inherit_errexit 2>/dev/null
    if [[ -n ${WSH_SHELL_ENV+set} ]]; then
      ENV=$WSH_SHELL_ENV
    else
      builtin unset -v ENV
    fi
    if [[ $WSH_SHELL_INJECT == *histfile* ]]; then
      HISTFILE=~/.bash_history
    fi
    if [[ $WSH_SHELL_INJECT == *mailcheck* ]]; then
      MAILCHECK=60
    fi
  fi
  builtin set -- "$WSH_SHELL_INJECT"
  builtin unset -v WSH_SHELL_INJECT WSH_SHELL_KEY WSH_SHELL_ENV
  # Ctrl+C aborts the user's files, as it would without us, and not this one.
  builtin trap '__wsh[interrupted]=1; builtin return 130' INT
  # `!` prevents a failing last line from ending a shell whose files have set errexit; PIPESTATUS has the true status.
  if [[ $1 == *login* ]]; then
    builtin set --
    if [[ -e /etc/profile ]]; then
      ! . /etc/profile
    fi
    if [[ -n ${__wsh[interrupted]-} ]]; then
      :
    elif [[ -e ~/.bash_profile ]]; then
      ! . ~/.bash_profile
    elif [[ -e ~/.bash_login ]]; then
      ! . ~/.bash_login
    elif [[ -e ~/.profile ]]; then
      ! . ~/.profile
    fi
  else
    builtin set --
    if [[ -e ~/.bashrc ]]; then
      ! . ~/.bashrc
    fi
  fi
  {
    __wsh[status]=${PIPESTATUS[0]}
    # Through the key's file rather than $(...): a fork takes a tenth of a shell's start.
    if builtin trap -p INT DEBUG >|"${__wsh[file]-}"; then
      builtin read -rd '' '__wsh[traps]' <"${__wsh[file]}" || : >|"${__wsh[file]}"
    else
      __wsh[traps]=$(builtin trap -p INT DEBUG)
    fi
    builtin set -- "${__wsh[traps]}"
    [[ $1 != *__wsh* ]] || builtin trap - INT
    [[ $1 != *DEBUG* ]] || __wsh[traced]=1
    builtin set --
    if [[ ${__wsh_ps[0]+set} == set ]]; then
      __wsh_install
    fi
  } >/dev/null 2>&1
  # The first prompt sees the status of the user's last line; left of `&&` errexit and ERR traps ignore it.
  { __wsh_return "${__wsh[status]}" && :; } >/dev/null 2>&1
else
  { [[ ${__wsh_ps[0]+set} != set ]] || __wsh_install; } >/dev/null 2>&1
fi
