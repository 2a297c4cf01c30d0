/** One line of `wsh doctor`: a check's finding and, for a problem, advice. */
export interface Finding {
  readonly subject: string;
  readonly state: "ok" | "note" | "wrong";
  readonly text: string;
  /** How to solve the problem. */
  readonly advice?: string;
}
