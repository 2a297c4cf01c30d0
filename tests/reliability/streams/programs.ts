/**
 * The recorded programs and their steps: keys, and the text that the screen must show before the next.
 * Each runs in a directory of demo files, on a machine called `demo` with no other processes, so that a recording contains
 * nothing of the recording machine.
 */

/** Keys to type, or text that the screen must show before the next step. */
type Step = string | RegExp;

export interface StreamProgram {
  readonly name: string;
  /** Program and arguments; the first word must be installed for a recording. */
  readonly command: readonly string[];
  readonly steps: readonly Step[];
}

const ENTER = "\r";
const ESCAPE = "\x1b";
const DOWN = "\x1b[B";
const PAGE_DOWN = "\x1b[6~";

export const streamPrograms: readonly StreamProgram[] = [
  {
    name: "vim",
    command: ["vim", "-u", "NONE", "-n", "-N", "--cmd", "syntax on|set number ruler showcmd hlsearch", "notes.c"],
    steps: [
      /int main/,
      "/print",
      ENTER,
      "ddp",
      "5Oinserted line",
      ESCAPE,
      ":vsplit README.md",
      ENTER,
      /demo project/,
      "\x06",
      ":set list",
      ENTER,
      /\$\s/,
    ],
  },
  {
    name: "less",
    command: ["less", "-R", "-N", "lines.txt"],
    steps: [/lines\.txt/, " ", " ", "b", "/line 77", ENTER, /line 77/, "k", "k", "G", /END/, "y", "y"],
  },
  {
    name: "htop",
    command: ["htop", "-d", "5"],
    steps: [/F10/, "\x1bOS", "htop", /htop/, ESCAPE, "\x1bOQ", /Setup|Meters/, DOWN, DOWN, ESCAPE, /F10/],
  },
  {
    name: "mc",
    command: ["mc", "--nosubshell"],
    steps: [/10Quit/, DOWN, DOWN, "\t", "\x1b9", /Listing|Left/, DOWN, ESCAPE, ESCAPE, /10Quit/],
  },
  {
    name: "nano",
    command: ["nano", "-l", "README.md"],
    steps: [
      /GNU nano/,
      DOWN,
      "typed in nano ",
      "\x17",
      /Search/,
      "demo",
      ENTER,
      "\x0b",
      "\x0b",
      "\x15",
      "\x1b#",
      PAGE_DOWN,
    ],
  },
  { name: "man", command: ["man", "./demo.1"], steps: [/DEMO\(1\)/, " ", "k", "/frob", ENTER, /frob/] },
  { name: "git-log", command: ["git", "log", "--graph", "--stat", "--color=always"], steps: [/third/, " ", "k"] },
  {
    name: "git-diff",
    command: ["git", "--no-pager", "diff", "--color=always", "HEAD", "--", "README.md"],
    steps: [/added/],
  },
  {
    name: "python",
    command: ["python3", "-q"],
    steps: [/>>>/, `for n in range(30): print(n, "x" * n)`, ENTER, ENTER, /29 x+/, "1/0", ENTER, /ZeroDivision/],
  },
  {
    name: "node",
    command: ["node"],
    steps: [
      />/,
      "Object.fromEntries([...Array(8)].map((_, i) => ['key' + i, [i, null, 'text']]))",
      ENTER,
      /key7/,
      "[1,2].ma",
      "\t",
      "\t",
      /\.map/,
    ],
  },
  {
    name: "fzf",
    command: ["sh", "-c", "fzf --reverse --border --preview 'cat notes.c' < lines.txt"],
    steps: [/int main/, "77", /2\/|19\/|line 77/, DOWN, DOWN, "\x7f", "\x0e"],
  },
  {
    name: "dialog",
    command: [
      "dialog",
      "--colors",
      "--title",
      "Demo",
      "--checklist",
      "Choose \\Zb\\Z1some\\Zn:",
      "15",
      "50",
      "5",
      "a",
      "first",
      "on",
      "b",
      "second",
      "off",
      "c",
      "third",
      "off",
    ],
    steps: [/second/, DOWN, " ", DOWN, "\t", "\t"],
  },
  {
    name: "dialog-gauge",
    command: ["sh", "-c", "seq 0 20 80 | dialog --gauge 'Working' 8 60; sleep 60"],
    steps: [/80%/],
  },
  {
    name: "emacs",
    command: ["emacs", "-nw", "-Q", "notes.c"],
    steps: [
      /int main/,
      "\x13print",
      /I-search/,
      ENTER,
      "\x182",
      "\x18o",
      "\x1bx",
      "list-colors-display",
      ENTER,
      /color|black/i,
      "\x16",
      "\x1b<",
    ],
  },
  { name: "top", command: ["top", "-d", "0.5"], steps: [/COMMAND/, "z", "x", "c", "1", /Cpu0|%Cpu/, "V"] },
  {
    name: "ls",
    command: ["ls", "--color=always", "-la", "-C", "--hyperlink=never", "."],
    steps: [/notes\.c/],
  },
  {
    name: "grep",
    command: ["grep", "--color=always", "-n", "-r", "-C1", "demo", "demo.1", "notes.c", "README.md"],
    steps: [/README/],
  },
  {
    name: "bash",
    command: ["bash", "--norc", "--noprofile"],
    steps: [
      /\$/,
      "printf '%s\\n' {1..40} | column -c 70",
      ENTER,
      /40/,
      "echo a long command line that is going to wrap at the right edge of a screen of eighty columns",
      "\x01\x1b[C\x1b[C",
      "X",
      "\x05",
      ENTER,
      /columns\s/,
      "\x12col",
      /reverse-i-search/,
      "\x07",
      "ls no",
      "\t",
      /notes/,
    ],
  },
  {
    name: "zsh",
    command: ["zsh", "-f"],
    steps: [
      /demo[%#$]/,
      "autoload -U compinit; compinit -D; PROMPT='%F{green}%n%f %# ' RPROMPT='%B%~%b'",
      ENTER,
      /~?\s/,
      "ls ",
      "\t",
      "\t",
      /notes/,
      "\x15",
      "echo one two",
      "\x1b[D\x1b[D",
      "\x0b",
      ENTER,
    ],
  },
  {
    name: "fish",
    command: ["fish", "--no-config"],
    steps: [/[>#]/, "echo hello", /hello/, ENTER, /hello\s/, "ls ", "\t", "\t", /notes/, "\t", ESCAPE, "\x03"],
  },
  {
    name: "tmux",
    command: ["tmux", "-f", "/dev/null", "-L", "demo", "new-session", "sh"],
    steps: [
      /\[0\]/,
      "seq 30",
      ENTER,
      /30/,
      "\x02%",
      '\x02"',
      "seq 9",
      ENTER,
      "\x02z",
      "\x02z",
      "\x02t",
      /\d:\d\d|█|\s/,
    ],
  },
  {
    name: "apt-progress",
    command: ["sh", "apt-progress.sh"],
    steps: [/finished/],
  },
  {
    name: "spinner",
    command: ["python3", "spinner.py"],
    steps: [/all done/],
  },
  { name: "unicode", command: ["cat", "unicode.txt"], steps: [/end of it/] },
  { name: "emoji", command: ["cat", "emoji.txt"], steps: [/end of it/] },
  { name: "attributes", command: ["cat", "attributes.txt"], steps: [/end of it/] },
  {
    name: "dmesg",
    command: ["sh", "-c", "sed 's/^/[    1.234567] /' lines.txt | head -n 60 | grep --color=always -E 'line [0-9]+|$'"],
    steps: [/line 60/],
  },
  {
    name: "pagers-wide",
    command: ["less", "-S", "wide.txt"],
    steps: [/wide\.txt|0123/, "\x1b[C", "\x1b[C", "\x1b[D", PAGE_DOWN],
  },
];
