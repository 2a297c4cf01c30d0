/** One line of `wsh doctor`: what a check found and, unless all is well, what to do about it. */
export interface Finding {
  readonly subject: string;
  readonly state: "ok" | "note" | "wrong";
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string;
}
