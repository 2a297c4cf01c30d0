/** The phase of a shell between its prompt and the end of a command, by its integration's marks. */
import type { ShellMark } from "../ports.ts";

/** Phase of the pane's own shell, by its marks. `drawing`: a prompt has begun and its end was not seen yet. */
export type ShellPhase = "none" | "drawing" | "prompt" | "running" | "ended";

export function nextPhase(phase: ShellPhase, kind: ShellMark["kind"]): ShellPhase {
  switch (kind) {
    case "A":
      return "drawing";
    case "B":
      return "prompt";
    case "C":
      return "running";
    case "D":
      return "ended";
    case "E":
    case "L":
    case "T":
    case "P":
      return phase;
  }
}
