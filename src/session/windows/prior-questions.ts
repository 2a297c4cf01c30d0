/**
 * Questions to a person before their key's operation runs: whether a program, or the whole session, may be ended; and
 * requests for missing input, such as a name. Calls cause no questions. Pure.
 */
import type { Answer } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/question.ts";
import { type PaneInfo, programsText, type RunningProgram, type SessionInfo } from "../../protocol/session.ts";

export interface PriorQuestion {
  readonly question: Question;
  /** The pane or window in question; the answer applies to it, wherever the focus is by that time. */
  readonly about: string;
  /** The answer's addition to the operation's input; null: nothing happens. */
  input(answer: Answer): Readonly<Record<string, unknown>> | null;
}

/** Finds the programs that run in panes (endpoint/operations/running.ts). */
type RunningPrograms = (panes: readonly PaneInfo[]) => readonly RunningProgram[];

/**
 * @param pane the focused pane at the person's terminal
 * @param running called only if something may end
 * @returns null: the key's operation runs at once
 */
export function priorQuestion(
  { operation, input }: { readonly operation: string; readonly input: Readonly<Record<string, unknown>> },
  { name, windows }: Pick<SessionInfo, "name" | "windows">,
  pane: string,
  running: RunningPrograms,
): PriorQuestion | null {
  const window = windows.find(({ panes }) => panes.some(({ id }) => id === pane));
  if (window === undefined) return null;
  const { panes } = window;
  switch (operation) {
    case "pane.close": {
      const isLast = windows.length === 1 && panes.length === 1;
      const own = panes.filter(({ id }) => id === pane);
      return withTarget(pane, closingQuestion(running(own), "pane", isLast ? name : null));
    }
    case "window.close":
      return withTarget(window.id, closingQuestion(running(panes), "window", windows.length === 1 ? name : null));
    case "window.update":
      return Object.keys(input).length > 0 ? null : withTarget(window.id, namingQuestion(window.name));
    case "session.kill": {
      const all = windows.flatMap((each) => each.panes);
      return withTarget(name, confirmQuestion(`End the session '${name}'?`, endedProgramsText(running(all))));
    }
    case "session.restart":
    case "pane.respawn": {
      const programs = running(panes.filter(({ id }) => id === pane));
      if (programs.length === 0) return null;
      return withTarget(pane, confirmQuestion("Start it again?", endedProgramsText(programs)));
    }
    case "session.clear":
      return withTarget(pane, confirmQuestion("Clear history and screen?", "The output can no longer be read."));
    case "layout.set": {
      if (input.close_others !== true) return null;
      const others = running(panes.filter(({ id }) => !JSON.stringify(input).includes(`"${id}"`)));
      return withTarget(pane, confirmQuestion("Close the panes missing from the layout?", endedProgramsText(others)));
    }
    default:
      return null;
  }
}

type Untargeted = Omit<PriorQuestion, "about">;

function withTarget(target: string, question: Untargeted | null): PriorQuestion | null {
  return question === null ? null : { ...question, about: target };
}

/** @param session the session that would end with it; null: it continues */
function closingQuestion(
  programs: readonly RunningProgram[],
  what: "pane" | "window",
  session: string | null,
): Untargeted | null {
  if (programs.length === 0 && session === null) return null;
  const question =
    session === null ? `Close the ${what}?` : `Close the last ${what}? That ends the session '${session}'.`;
  return confirmQuestion(question, endedProgramsText(programs));
}

function confirmQuestion(question: string, detail: string): Untargeted {
  return {
    question: { kind: "confirm", question, detail, prepared: false },
    input: (answer) => (answer === true ? {} : null),
  };
}

function endedProgramsText(programs: readonly RunningProgram[]): string {
  const names = programsText(programs);
  return names === "" ? "" : `${names} ${names.includes(",") ? "run" : "runs"} there and will be ended.`;
}

/**
 * Whether a key's operation may ask something first.
 * @param ends what the operation ends
 * @param confirmsEnds the setting `confirm_close`
 */
export function mayAsk(operation: string, ends: "programs" | "data" | undefined, confirmsEnds: boolean): boolean {
  return ends === "programs" ? confirmsEnds : ends === "data" || operation === "window.update";
}

/** The confirmation before a call to something outside of the terminal's picture. */
export function endingQuestion(call: string, summary: string): Question {
  return { kind: "confirm", question: `${call}?`, detail: summary, prepared: false };
}

/** An empty name restores the window's automatic one. */
function namingQuestion(now: string): Untargeted {
  return {
    question: { kind: "text", question: "Name of the window", detail: "Empty: the program's name.", prepared: now },
    input: (answer) => (typeof answer === "string" ? { name: answer.trim() === "" ? null : answer.trim() } : null),
  };
}
