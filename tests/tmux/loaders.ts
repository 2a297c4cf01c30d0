/**
 * The calls by which tmuxp 1.27 and tmuxinator 3.0 load three configurations each: as recorded, except for `cat` in place
 * of shells and sizes that leave no cell over. A line that begins with `NAME=` gives its output that name.
 */

/** tmuxp creates every window beside the first, which it moves away and kills, and splits from the newest pane. */
function tmuxp(name: string, windows: readonly (readonly string[])[]): string[] {
  return [
    `has-session -t=${name}`,
    `s=new-session -P -F#{session_id} -s${name} -d -x 81 -y 31`,
    `list-sessions -F#{session_id}`,
    `list-windows -t {s} -F#{window_index}`,
    "move-window -s{s}:0 -t{s}:99",
    ...windows.flatMap(([window = "", ...lines], i) => [
      `w${i}=new-window -d -P -F#{window_id} -n ${window} -t{s}:`,
      ...(i === 0 ? ["kill-window -t{s}:99", "select-window -t{s}:0"] : []),
      `show-window-options -t {w${i}} -g pane-base-index`,
      `p=list-panes -t {w${i}} -F#{pane_id}`,
      ...lines.map((line) => line.replaceAll("{w}", `{w${i}}`)),
    ]),
  ];
}

export const loaders: Readonly<Record<string, readonly string[]>> = {
  "tmuxp, focus": [
    ...tmuxp("focus", [
      [
        "first",
        ...["send-keys -t {p} hello", "send-keys -t {p} Enter", "select-pane -t{p}"],
        ...[
          "q=split-window -t{p} -v -P -F#{pane_id}",
          "send-keys -t {q} cd",
          "send-keys -t {q} Enter",
          "select-pane -t{p}",
        ],
      ],
      [
        "second",
        ...["q=split-window -t{p} -v -P -F#{pane_id}", "select-pane -t{q}"],
        ...["r=split-window -t{q} -v -P -F#{pane_id}", "send-keys -t {r} last", "select-pane -t{q}"],
      ],
    ]),
    "select-window -t{s}:0",
    "set-hook -t {s} client-attached selectw\\ -t\\ {w0}",
  ],
  "tmuxp, main pane": tmuxp("mains", [
    [
      "main",
      ...["set-window-option -t {w} main-pane-height 20", "q=split-window -t{p} -v -P -F#{pane_id}"],
      ...["select-layout -t{w} main-horizontal", "r=split-window -t{q} -v -P -F#{pane_id}"],
      ...["select-layout -t{w} main-horizontal", "select-pane -t{r}"],
    ],
  ]),
  "tmuxp, synchronized": [
    "set-environment -t focus VARIABLE 1",
    ...tmuxp("both", [
      [
        "two",
        ...["q=split-window -t{p} -v -P -F#{pane_id}", "select-layout -t{w} even-vertical"],
        ...["set-window-option -t {w} synchronize-panes on", "send-keys -t {p} both Enter"],
      ],
    ]),
  ],
  "tmuxinator, panes": [
    "start-server ; show-options -gv base-index",
    "new-session -d -s panes -n editor -x 81 -y 31",
    ...["send-keys -t panes:0 cd\\ / C-m", "send-keys -t panes:0.0 vim C-m"],
    ...["splitw -c / -t panes:0", "select-layout -t panes:0 tiled", "send-keys -t panes:0.1 tail C-m"],
    ...[
      "splitw -c / -t panes:0",
      "select-layout -t panes:0 tiled",
      "splitw -c / -t panes:0",
      "select-layout -t panes:0 tiled",
    ],
    ...[
      "select-layout -t panes:0 tiled",
      "select-pane -t panes:0.0",
      "select-window -t panes:0",
      "select-pane -t panes:0.0",
    ],
  ],
  "tmuxinator, titles": [
    "new-session -d -s titles -n editor -x 81 -y 31",
    ...["set-window-option -t titles:0 pane-border-format #T", "select-pane -t titles:0.0 -T editor"],
    ...["splitw -c / -t titles:0", "select-pane -t titles:0.1 -T logs", "select-layout -t titles:0 even-vertical"],
    ...["select-pane -t titles:0.0", "select-window -t titles:0"],
  ],
  "tmuxinator, several windows, with names that are numbers": [
    "new-session -d -s numbers -n 222 -x 81 -y 31",
    ...["send-keys -t numbers:0 cd\\ /usr C-m", "send-keys -t numbers:0.0 cat C-m"],
    "new-window -c /usr -t numbers:1 -n 3",
    ...["set-window-option -t numbers:1 synchronize-panes on", "send-keys -t numbers:1.0 one C-m"],
    ...["splitw -c /usr -t numbers:1", "select-layout -t numbers:1 tiled", "send-keys -t numbers:1.1 two C-m"],
    ...["select-layout -t numbers:1 tiled", "select-layout -t numbers:1 even-horizontal", "select-pane -t numbers:1.0"],
    "new-window -c / -t numbers:2 -n 22",
    ...["splitw -c /tmp -t numbers:2", "select-layout -t numbers:2 tiled", "send-keys -t numbers:2.1 three C-m"],
    ...["select-layout -t numbers:2 even-vertical", "set-window-option -t numbers:2 synchronize-panes on"],
    ...["new-window -c /etc -t numbers:3 -n 4.5", "select-window -t numbers:2", "select-pane -t numbers:2.1"],
  ],
  "tmuxinator, nameless": [
    "new-session -d -s nameless -x 81 -y 31",
    ...["send-keys -t nameless:0 cd\\ / C-m", "new-window -c / -t nameless:1 -n other"],
    ...["send-keys -t nameless:1 here C-m", "select-window -t nameless:0", "select-pane -t nameless:0.0"],
  ],
};

/** Properties of each pane that are compared after all calls. */
export const loaded =
  "#{session_name} #{session_path} #{window_index} #{window_name} #{window_active} #{window_layout} | #{pane_index} " +
  "#{pane_title} #{pane_active} #{pane_synchronized} #{pane_current_path} #{pane_current_command}";
