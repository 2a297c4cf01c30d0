# wsh shell integration for zsh 5.1 and later.
#
# Marks where each prompt and each command begins and ends (OSC 133, 633 and 7), so that wsh knows exit codes and exact
# output. wsh loads it from its own .zshenv, before the user's files; it can also be sourced at the end of ~/.zshrc on
# another machine.
#
# The last preexec hook prints C and E. D belongs before zsh's mark for an unfinished last line, so PROMPT_EOL_MARK
# contains it while a command runs; the first precmd hook prints it when zsh shows no such mark. A and B are part of
# PROMPT, which the last precmd hook wraps again whenever a theme has changed it. The hooks install themselves at the
# first prompt. Users may reassign the arrays of hooks: if our last hook did not run, a check that zsh/sched makes after
# all of them restores ours, and does their work. State lives in an associative array, which zsh never exports; hooks
# run with closed output. Called by a command (ZSH_EVAL_CONTEXT begins with toplevel, or with trap) instead of by zsh,
# they do nothing.

if [[ ! -o interactive || -n ${__wsh+set} ]]; then
  builtin return 0
fi

builtin typeset -gA __wsh
__wsh=(nonce '' key '' hidden '' id 0 open 0 number 0 sched 0 line '' entry 0)
# The user's next line sees their status; left of `&&` errexit and ZERR traps ignore it.
__wsh[check]='{ __wsh_check && :; } 2>/dev/null'
if [[ -n ${WSH_SHELL_KEY-} ]]; then
  # The marks' secret is read once, and removed before anything else runs.
  { builtin read -r "__wsh[nonce]" <"$WSH_SHELL_KEY" && : >|"$WSH_SHELL_KEY" } 2>/dev/null
  __wsh[key]=${__wsh[nonce]:+;wsh=${__wsh[nonce]}}
fi
builtin unset WSH_SHELL_KEY

# First precmd hook: D, unless zsh has printed it with the mark for an unfinished line.
__wsh_precmd() {
  {
    builtin local wsh_status="$?"
    builtin emulate -L zsh
    builtin unsetopt xtrace verbose errexit errreturn nounset allexport
    __wsh_is_called || builtin return 0
    __wsh_follow
    __wsh_ended "$wsh_status"
  } >/dev/null 2>&1
  builtin return 0
}

__wsh_is_called() {
  [[ $ZSH_EVAL_CONTEXT != (toplevel|trap)* ]]
}

# Prints D with status $1 for a command that has begun, and for a line that began none: a syntax error. If the command
# has changed the mark for an unfinished line or its options, zsh has printed another one: eol has its characters.
__wsh_ended() {
  builtin local wsh_eol=''
  if [[ -o promptsp && -o promptcr ]]; then
    wsh_eol=${PROMPT_EOL_MARK-%B%S%#%s%b}
  fi
  if [[ ${__wsh[open]} == 1 ]]; then
    if [[ -z ${__wsh[eol]} || $wsh_eol != ${__wsh[eol]} ]]; then
      builtin setopt localoptions extendedglob
      wsh_eol=${${(%)wsh_eol}//$'\e'\[[0-9;]#m/}
      builtin print -rn -- $'\e]133;D;'"$1${__wsh[key]};id=${__wsh[id]};eol=${#wsh_eol}"$'\a' >/dev/tty
    fi
  elif [[ ( $HISTCMD -gt ${__wsh[number]} || ${__wsh[hidden]} == entered ) && $1 != 0 ]]; then
    __wsh[id]=$((__wsh[id] + 1))
    builtin print -rn -- $'\e]133;D;'"$1${__wsh[key]};id=${__wsh[id]}"$'\a' >/dev/tty
  fi
  __wsh_unhide
  __wsh_restore_mark
  __wsh[open]=0
}

# Runs after all precmd hooks. If ours were removed, or not called, the round ends here.
__wsh_check() {
  builtin local wsh_status="$?"
  {
    builtin emulate -L zsh
    builtin unsetopt xtrace verbose errexit errreturn nounset allexport
    if [[ ${precmd_functions[1]} != __wsh_precmd || ${precmd_functions[-1]} != __wsh_prompt || ${__wsh[open]} == 1 ]]; then
      if [[ ${__wsh[open]} == 1 ]]; then
        __wsh_ended "$wsh_status"
      fi
      precmd_functions=(__wsh_precmd ${precmd_functions:#__wsh_*} __wsh_prompt)
      builtin unset -f __wsh_boot 2>/dev/null
      __wsh_prompt
    fi
  } >/dev/null 2>&1
  builtin return "$wsh_status"
}

# Takes the variables of the terminal that was attached since: wsh writes the file anew.
__wsh_refresh() {
  builtin local wsh_stamp=''
  [[ -n ${WSH_ENVIRONMENT-} && -O $WSH_ENVIRONMENT ]] || builtin return 0
  builtin read -r wsh_stamp <"$WSH_ENVIRONMENT"
  if [[ $wsh_stamp != ${__wsh[environment]-} ]]; then
    __wsh[environment]=$wsh_stamp
    builtin source "$WSH_ENVIRONMENT"
  fi
}

# Restores PROMPT_EOL_MARK, unless the command itself has set another.
__wsh_restore_mark() {
  if [[ -n ${__wsh[eol]} && ${PROMPT_EOL_MARK-} == ${__wsh[eol]} ]]; then
    if [[ ${__wsh[eol_set]} == 1 ]]; then
      builtin typeset -g PROMPT_EOL_MARK=${__wsh[eol_user]}
    else
      builtin unset PROMPT_EOL_MARK
    fi
  fi
  __wsh[eol]=
}

# Last precmd hook: order of the hooks, prompt and directory.
__wsh_prompt() {
  {
    builtin emulate -L zsh
    builtin unsetopt xtrace verbose errexit errreturn nounset allexport
    __wsh_is_called || builtin return 0
    builtin local wsh_start=$'%{\e]133;A;redraw=1'"${__wsh[key]}"$'\a%}' wsh_end=$'%{\e]133;B'"${__wsh[key]}"$'\a%}'
    builtin local wsh_bare wsh_marks='' wsh_due
    if [[ ${preexec_functions[-1]} != __wsh_preexec ]]; then
      preexec_functions=(${preexec_functions:#__wsh_preexec} __wsh_preexec)
    fi
    if [[ ${(t)PS1} == *export* ]]; then
      # An exported prompt must not carry marks to child shells: here B directly follows A.
      wsh_bare=${PS1//"$wsh_start"/}
      wsh_bare=${wsh_bare//"$wsh_end"/}
      if [[ $PS1 != "$wsh_bare" ]]; then
        PS1=$wsh_bare
      fi
      wsh_marks=$'\e]133;A;redraw=1'"${__wsh[key]}"$'\a\e]133;B'"${__wsh[key]}"$'\a'
    elif [[ $PS1 != "$wsh_start"*"$wsh_end" ]]; then
      wsh_bare=${PS1//"$wsh_start"/}
      wsh_bare=${wsh_bare//"{%}$wsh_end"/}
      wsh_bare=${wsh_bare//"$wsh_end"/}
      # A final `%` would consume our first one: it gets a sequence that prints nothing, as it would at the end.
      builtin local wsh_signs=${wsh_bare##*[^%]}
      if ((${#wsh_signs} % 2 == 1)); then
        wsh_end={%}$wsh_end
      fi
      PS1=$wsh_start$wsh_bare$wsh_end
    fi
    if [[ $PWD != ${__wsh[pwd]-} ]]; then
      __wsh_url
    fi
    __wsh_refresh
    # The hooks are complete: no check is needed.
    wsh_due=${zsh_scheduled_events[(i)*__wsh_check*]}
    if ((wsh_due <= ${#zsh_scheduled_events})); then
      builtin sched -$wsh_due
    fi
    __wsh_keys
    __wsh[number]=$HISTCMD
    builtin print -rn -- $'\e]7;file://'"$HOST${__wsh[url]}"$'\a'"$wsh_marks" >/dev/tty
  } >/dev/null 2>&1
  builtin return 0
}

# Line editor. wsh types a command only into an empty line, and asks the editor itself: the private keys CSI 9371 z and
# CSI 9372 z are answered with a mark that contains the line, CSI 9373 z clears it, CSI 9374 z keeps what is entered next
# out of zsh's own history. A key that was cut (by a quoted insert, or a lone ESC before it) leaves its rest in the line:
# the next key removes it.
__wsh_ask() {
  {
    builtin emulate -L zsh
    builtin unsetopt xtrace verbose errexit errreturn nounset allexport
    builtin local wsh_number="${KEYS[-2]}" wsh_line="$BUFFER" wsh_length wsh_more=''
    if [[ $wsh_line == *'[937'[1234]z* ]]; then
      wsh_line=${wsh_line//$'\e'\[937[1234]z/}
      wsh_line=${wsh_line//\[937[1234]z/}
      BUFFER=$wsh_line
    fi
    if [[ $wsh_number == 3 ]]; then
      BUFFER=''
      builtin return 0
    fi
    if [[ $wsh_number == 4 ]]; then
      __wsh[hidden]=asked
      zshaddhistory_functions=(${zshaddhistory_functions:#__wsh_addhistory} __wsh_addhistory)
      builtin return 0
    fi
    if [[ $CONTEXT != start || -n $PREBUFFER ]]; then
      wsh_more=1
    fi
    if [[ -z $BUFFER && $KEYMAP == vicmd ]]; then
      zle -K viins
    fi
    wsh_length=${#wsh_line}
    wsh_line=${wsh_line[1,256]}
    wsh_line=${wsh_line//\\/\\\\}
    wsh_line=${wsh_line//;/\\x3b}
    wsh_line=${wsh_line//[[:cntrl:]]/ }
    builtin print -rn -- $'\e]633;L;'"$wsh_line;${__wsh[nonce]};q=$wsh_number;length=$wsh_length;more=$wsh_more"$'\a' >/dev/tty
  } >/dev/null 2>&1
  builtin return 0
}

# zsh ends this other history, which is written nowhere, once it has taken the line.
__wsh_addhistory() {
  __wsh[hidden]=entered
  builtin fc -p
}

# The line has been read, or given up.
__wsh_unhide() {
  builtin emulate -L zsh
  if [[ -n ${__wsh[hidden]} ]]; then
    __wsh[hidden]=
    zshaddhistory_functions=(${zshaddhistory_functions:#__wsh_addhistory})
  fi
}

# Binds the keys in zsh's keymaps, before each prompt: the user's files and commands may have recreated the keymaps.
__wsh_keys() {
  builtin local wsh_map
  zle -N __wsh_ask
  for wsh_map in main emacs viins vicmd isearch command menuselect; do
    builtin bindkey -M $wsh_map '\e[9371z' __wsh_ask '\e[9372z' __wsh_ask '\e[9373z' __wsh_ask '\e[9374z' __wsh_ask
  done
}

# Sets __wsh[url] to OSC 7's path for $PWD.
__wsh_url() {
  builtin local LC_ALL=C wsh_out='' wsh_char
  __wsh[pwd]=$PWD
  if [[ $PWD != *[^A-Za-z0-9/._~-]* ]]; then
    __wsh[url]=$PWD
    builtin return 0
  fi
  for wsh_char in ${(s::)PWD}; do
    if [[ $wsh_char == [A-Za-z0-9/._~-] ]]; then
      wsh_out+=$wsh_char
    else
      wsh_out+=%${(l:2::0:)$(([##16] #wsh_char & 255))}
    fi
  done
  __wsh[url]=$wsh_out
}

# C reports what the shell's own history does with the line: history=no, or history=later when a hook of the user's
# decides, whose answer is known before the next command: kept=1 or 0; entry=1 of one that our key hides.
__wsh_preexec() {
  {
    builtin local wsh_history=''
    if [[ ${__wsh[hidden]} == entered ]]; then
      wsh_history=';entry=1'
      __wsh_unhide
    elif [[ -o histignorespace && $1 == ' '* ]] || [[ -n ${HISTORY_IGNORE-} && $1 == ${~HISTORY_IGNORE} ]]; then
      wsh_history=';history=no'
    elif (( ${+functions[zshaddhistory]} || ${#zshaddhistory_functions} )); then
      wsh_history=';history=later'
    fi
    builtin emulate -L zsh
    builtin unsetopt xtrace verbose errexit errreturn nounset allexport
    __wsh_is_called || builtin return 0
    builtin local wsh_rest="$1" wsh_out='' wsh_part wsh_mark
    __wsh[id]=$((__wsh[id] + 1))
    __wsh[open]=1
    wsh_rest=${wsh_rest//\\/\\\\}
    wsh_rest=${wsh_rest//;/\\x3b}
    wsh_rest=${wsh_rest//$'\n'/\\x0a}
    wsh_rest=${wsh_rest//$'\t'/\\x09}
    while [[ $wsh_rest == *[[:cntrl:]]* ]]; do
      wsh_part=${wsh_rest%%[[:cntrl:]]*}
      wsh_rest=${wsh_rest#$wsh_part}
      wsh_out+=$wsh_part'\x'${(L)${(l:2::0:)$(([##16] #wsh_rest))}}
      wsh_rest=${wsh_rest#?}
    done
    if [[ -n $1 ]]; then
      wsh_mark=$'\e]633;E;'"$wsh_out$wsh_rest${__wsh[nonce]:+;${__wsh[nonce]}}"$'\a'
    fi
    # A hidden line says nothing about the one before.
    if [[ $wsh_history != ';entry=1' && -n ${__wsh[line]} ]]; then
      if [[ ${__wsh[entry]} != $HISTCMD && ${history[${__wsh[entry]}]-} == ${__wsh[line]} ]]; then
        wsh_history+=';kept=1'
      else
        wsh_history+=';kept=0'
      fi
      __wsh[line]=
    fi
    if [[ $wsh_history == *later* ]]; then
      __wsh[line]=$1
      __wsh[entry]=$HISTCMD
    fi
    builtin print -rn -- $'\e]133;C'"${__wsh[key]};id=${__wsh[id]}$wsh_history"$'\a'"$wsh_mark" >/dev/tty
    __wsh[eol]=
    if [[ -o promptsp && -o promptcr ]]; then
      __wsh[eol_set]=${PROMPT_EOL_MARK+1}
      __wsh[eol_user]=${PROMPT_EOL_MARK-%B%S%#%s%b}
      __wsh[eol]=$'%{\e]133;D;%?'"${__wsh[key]};id=${__wsh[id]}"$'\a%}'"${__wsh[eol_user]}"
      builtin typeset -g PROMPT_EOL_MARK=${__wsh[eol]}
    fi
    # Code that reads the list of scheduled commands sees the user's own.
    if [[ ${__wsh[sched]} == 1 && $3 != *sched* ]]; then
      builtin sched +0 ${__wsh[check]}
    fi
  } >/dev/null 2>&1
  builtin return 0
}

# Makes our hooks the first and the last. The hooks of this round are fixed, and those after ours may build the prompt:
# the last of them is replaced for one call, after which the prompt is wrapped.
__wsh_follow() {
  if [[ ${precmd_functions[1]} == __wsh_precmd && ${precmd_functions[-1]} == __wsh_prompt ]]; then
    builtin return 0
  fi
  builtin local wsh_last=${precmd_functions[-1]}
  precmd_functions=(__wsh_precmd ${precmd_functions:#__wsh_*} __wsh_prompt)
  if [[ $wsh_last != __wsh_* ]] && builtin functions -c $wsh_last __wsh_saved; then
    __wsh[last]=$wsh_last
    functions[$wsh_last]='__wsh_last "$?"'
  fi
}

__wsh_last() {
  builtin functions -c __wsh_saved "${__wsh[last]}" 2>/dev/null
  builtin unset -f __wsh_saved 2>/dev/null
  if [[ ! -o errexit ]]; then
    __wsh_return "$1"
  fi
  "${__wsh[last]}"
  __wsh_prompt
}

__wsh_return() {
  builtin return "$1"
}

# Runs once, when the user's files have been read.
__wsh_boot() {
  {
    builtin emulate -L zsh
    builtin unsetopt xtrace verbose errexit errreturn nounset allexport
    # Startup files, above all a login shell's, may have rebuilt PATH.
    if [[ ${WSH_BIN-} == */wsh ]] && ! builtin whence -p wsh; then
      PATH=${PATH:+$PATH:}${WSH_BIN:h}
    fi
    if [[ -n ${WSH_TMUX_BIN-} ]] && ! builtin whence -p tmux; then
      PATH=${PATH:+$PATH:}$WSH_TMUX_BIN
    fi
    __wsh_follow
    __wsh_prompt
    builtin unset -f __wsh_boot
  } >/dev/null 2>&1
  builtin return 0
}

builtin typeset -ga precmd_functions preexec_functions
precmd_functions+=(__wsh_boot)
{
  if builtin zmodload -F zsh/sched b:sched p:zsh_scheduled_events; then
    __wsh[sched]=1
    builtin sched +0 ${__wsh[check]}
  fi
} 2>/dev/null
