# Read by zsh as $ZDOTDIR/.zshenv: restores ZDOTDIR, loads the hooks, then runs the user's own .zshenv. zsh finds all
# other startup files as it would without wsh.
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
