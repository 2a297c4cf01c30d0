# Read by zsh as $ZDOTDIR/.zshenv: gives ZDOTDIR back, loads the hooks, then runs the user's own .zshenv. All other
# startup files zsh finds by itself, as it would have without wsh.
{
  if [[ -o interactive ]]; then
    builtin source "$ZDOTDIR/../wsh.zsh"
  fi
  if [[ -n ${WSH_SHELL_ZDOTDIR+set} ]]; then
    builtin export ZDOTDIR="$WSH_SHELL_ZDOTDIR"
  else
    builtin unset ZDOTDIR
  fi
  builtin unset WSH_SHELL_ZDOTDIR WSH_SHELL_KEY
} 2>/dev/null
if [[ -e ${ZDOTDIR-$HOME}/.zshenv ]]; then
  builtin source "${ZDOTDIR-$HOME}/.zshenv"
fi
