/** The type of a tmux option. */
export interface OptionKind {
  readonly scope: "server" | "session" | "window";
  /** A pane may have a value of its own. */
  readonly pane?: true;
  readonly type: "string" | "number" | "flag" | "choice" | "colour" | "style" | "key" | "command";
  /** The value is a list with one entry per line. */
  readonly list?: true;
  readonly choices?: readonly string[];
  readonly range?: readonly [number, number];
  readonly value: string;
}
