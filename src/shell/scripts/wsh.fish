# wsh shell integration for fish 3.4 and later.
#
# Marks where each prompt and each command begins and ends (OSC 133, 633 and 7), so that wsh knows exit codes and exact
# output. wsh loads it with --init-command, after the user's configuration; it can also be sourced at the end of
# config.fish on another machine.
#
# C and E are printed at fish_preexec, D at fish_postexec, A at the event fish_prompt. B follows the function fish_prompt,
# which is wrapped again before the next prompt after a redefinition. A command that emits these events, or calls the
# function, causes no marks: `status current-command` is the command then, otherwise fish itself.

if status is-interactive; and not set -q __wsh_id
    set -g __wsh_id 0
    set -g __wsh_key
    set -g __wsh_nonce
    # The marks' secret is read once, and then removed.
    if set -q WSH_SHELL_KEY; and test -s "$WSH_SHELL_KEY"
        read -l nonce <"$WSH_SHELL_KEY"
        echo -n >"$WSH_SHELL_KEY"
        set -g __wsh_key ";wsh=$nonce"
        set -g __wsh_nonce ";$nonce"
    end
    set -e WSH_SHELL_KEY

    # Startup files, above all a login shell's, may have rebuilt PATH.
    if string match -q '*/wsh' -- "$WSH_BIN"; and not command -q wsh
        set -gx PATH $PATH (string replace -r '/[^/]*$' '' -- $WSH_BIN)
    end
    if test -n "$WSH_TMUX_BIN"; and not command -q tmux
        set -gx PATH $PATH $WSH_TMUX_BIN
    end

    function __wsh_escape --description 'Text of OSC 633;E'
        set -l text (string replace -a '\\' '\\\\' -- $argv[1] | string replace -a ';' '\\x3b' | string collect)
        set text (string replace -a \n '\\x0a' -- $text | string replace -a \t '\\x09' | string collect)
        if string match -qr '[[:cntrl:]]' -- $text
            set -l out
            for char in (string split '' -- $text)
                if string match -qr '[[:cntrl:]]' -- $char
                    set -a out (builtin printf '\\\\x%02x' "'$char")
                else
                    set -a out $char
                end
            end
            set text (string join '' -- $out)
        end
        builtin printf '%s' $text
    end

    function __wsh_is_called
        test (status current-command) = fish
    end

    function __wsh_preexec --on-event fish_preexec
        __wsh_is_called; or return
        set -g __wsh_id (math $__wsh_id + 1)
        set -g __wsh_open 1
        # Whether fish keeps the line in its own history.
        set -l wsh_history
        if set -q __wsh_hidden
            set wsh_history ';entry=1'
            __wsh_unhide
        else if test -n "$fish_private_mode"; or string match -q ' *' -- "$argv[1]"
            set wsh_history ';history=no'
        else if functions -q fish_should_add_to_history; and not fish_should_add_to_history "$argv[1]"
            set wsh_history ';history=no'
        end
        builtin printf '\e]133;C%s;id=%s%s\a\e]633;E;%s%s\a' "$__wsh_key" $__wsh_id "$wsh_history" (__wsh_escape "$argv[1]" | string collect) "$__wsh_nonce"
    end

    function __wsh_postexec --on-event fish_postexec
        set -l wsh_status $status
        if set -q __wsh_open; and __wsh_is_called
            set -e __wsh_open
            builtin printf '\e]133;D;%s%s;id=%s\a' $wsh_status "$__wsh_key" $__wsh_id
        end
    end

    # Line editor. wsh types a command only into an empty line, and asks the editor itself: two private keys,
    # Ctrl+Alt+Shift+F9 and F10, are answered with a mark that contains the line; the third, F11, clears it; F12 keeps
    # what is entered next out of fish's own history. A key that was cut (by a lone ESC before it) leaves its rest in the
    # line: the next key removes it.
    function __wsh_ask
        set -l line (commandline | string collect)
        if string match -qr '\[2[0134];8~' -- "$line"
            set line (string replace -ar '\e?\[2[0134];8~' '' -- "$line" | string collect)
            commandline -- "$line"
        end
        if test $argv[1] = 3
            commandline ''
            return
        end
        if test $argv[1] = 4
            __wsh_hide
            return
        end
        set -l more
        if commandline --paging-mode; or commandline --search-mode
            set more 1
        end
        set -l text (__wsh_escape (string sub -l 256 -- "$line" | string collect) | string collect)
        builtin printf '\e]633;L;%s%s;q=%s;length=%s;more=%s\a' "$text" (string replace -r '^$' ';' -- "$__wsh_nonce") $argv[1] (string length -- "$line" | string join +) "$more"
    end

    # Into a history that is written nowhere.
    function __wsh_hide
        set -q __wsh_hidden; and return
        set -g __wsh_hidden
        set -qg fish_history; and set __wsh_hidden "$fish_history"
        set -g fish_history ''
    end

    # The line has been read, or given up.
    function __wsh_unhide --on-event fish_cancel
        set -q __wsh_hidden; or return
        if test -n "$fish_history"
        else if test (count $__wsh_hidden) = 0
            set -eg fish_history
        else
            set -g fish_history $__wsh_hidden
        end
        set -e __wsh_hidden
    end

    function __wsh_keys
        # fish 4 reads keys by name and knows no others.
        set -l keys \e'[20;8~' \e'[21;8~' \e'[23;8~' \e'[24;8~'
        if string match -qr '^([4-9]|\d\d)' -- $version
            set keys ctrl-alt-shift-f9 ctrl-alt-shift-f10 ctrl-alt-shift-f11 ctrl-alt-shift-f12
        end
        if bind -M default $keys[1] >/dev/null 2>&1
            return
        end
        for mode in default insert visual replace replace_one operator
            for number in 1 2 3 4
                bind -M $mode $keys[$number] "__wsh_ask $number"
            end
        end
    end

    # Runs before each prompt; its own status and output do not reach fish_prompt.
    function __wsh_prompt --on-event fish_prompt
        __wsh_is_called; or return
        __wsh_unhide
        __wsh_keys
        # The variables of the terminal that was attached since: wsh writes the file anew.
        if test -n "$WSH_ENVIRONMENT"; and test -O "$WSH_ENVIRONMENT.fish"
            read -l stamp <"$WSH_ENVIRONMENT.fish"
            if test "$stamp" != "$__wsh_environment"
                set -g __wsh_environment $stamp
                source "$WSH_ENVIRONMENT.fish"
            end
        end
        if not functions -q __wsh_fish_prompt; or not string match -q '*__wsh_fish_prompt*' -- (functions fish_prompt | string collect)
            functions -e __wsh_fish_prompt
            if functions -q fish_prompt
                functions -c fish_prompt __wsh_fish_prompt
                function fish_prompt
                    __wsh_fish_prompt
                    __wsh_is_called; and builtin printf '\e]133;B%s\a' "$__wsh_key"
                end
            end
        end
        builtin printf '\e]7;file://%s%s\a\e]133;A;redraw=1%s\a' "$hostname" (string escape --style=url -- "$PWD") "$__wsh_key"
    end
end
