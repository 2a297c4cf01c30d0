/** What an option of tmux is. */
export interface OptionKind {
  readonly scope: "server" | "session" | "window";
  /** A pane may have a value of its own. */
  readonly pane?: true;
  readonly type: "string" | "number" | "flag" | "choice" | "colour" | "style" | "key" | "command";
  /** One value a line. */
  readonly list?: true;
  readonly choices?: readonly string[];
  readonly range?: readonly [number, number];
  readonly value: string;
}
