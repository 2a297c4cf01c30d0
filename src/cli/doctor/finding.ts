/** One line of `wsh doctor`: a check's finding and, for a problem, advice. */
export interface Finding {
  readonly subject: string;
  readonly state: "ok" | "note" | "wrong";
  readonly text: string;
  /** The way out. */
  readonly advice?: string;
}
