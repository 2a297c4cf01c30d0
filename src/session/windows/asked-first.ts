/**
 * What a person is asked before a key of theirs is carried out: whether a program may be ended, or the whole session;
 * and for what the key leaves open, such as a name. Calls are asked nothing. Pure.
 */
import type { Answer } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/asking.ts";
import type { PaneInfo, SessionInfo } from "../../protocol/session.ts";
import { automaticName } from "../../protocol/session.ts";

export interface AskedFirst {
  readonly question: Question;
  /** The pane or window that it is about: the answer is, too, wherever the focus is by then. */
  readonly about: string;
  /** What the answer adds to the operation's input; null: nothing is done. */
  input(answer: Answer): Readonly<Record<string, unknown>> | null;
}

/**
 * @param pane that has the focus at the person's terminal
 * @returns null when the key is carried out at once
 */
export function askedFirst(
  { operation, input }: { readonly operation: string; readonly input: Readonly<Record<string, unknown>> },
  { name, windows }: Pick<SessionInfo, "name" | "windows">,
  pane: string,
): AskedFirst | null {
  const window = windows.find(({ panes }) => panes.some(({ id }) => id === pane));
  if (window === undefined) return null;
  const { panes } = window;
  switch (operation) {
    case "pane.close": {
      const isLast = windows.length === 1 && panes.length === 1;
      const own = panes.filter(({ id }) => id === pane);
      return about(pane, closing(own, "pane", isLast ? name : null));
    }
    case "window.close":
      return about(window.id, closing(panes, "window", windows.length === 1 ? name : null));
    case "window.update":
      return Object.keys(input).length > 0 ? null : about(window.id, naming(window.name));
    case "session.kill": {
      const all = windows.flatMap((each) => each.panes);
      return about(name, confirming(`End the session '${name}'?`, endedWith(running(all))));
    }
    case "session.restart":
    case "pane.respawn": {
      const there = running(panes.filter(({ id }) => id === pane));
      return there.length === 0 ? null : about(pane, confirming("Start it again?", endedWith(there)));
    }
    case "session.clear":
      return about(pane, confirming("Clear history and screen?", "What was printed cannot be read any more."));
    case "layout.set": {
      if (input.close_others !== true) return null;
      const others = running(panes.filter(({ id }) => !JSON.stringify(input).includes(`"${id}"`)));
      return about(pane, confirming("Close the panes that the layout leaves out?", endedWith(others)));
    }
    default:
      return null;
  }
}

type Asked = Omit<AskedFirst, "about">;

function about(target: string, asked: Asked | null): AskedFirst | null {
  return asked === null ? null : { ...asked, about: target };
}

/** @param session that ends with it; null when it goes on */
function closing(panes: readonly PaneInfo[], what: "pane" | "window", session: string | null): Asked | null {
  const there = running(panes);
  if (there.length === 0 && session === null) return null;
  const question =
    session === null ? `Close the ${what}?` : `Close the last ${what}? That ends the session '${session}'.`;
  return confirming(question, endedWith(there));
}

function confirming(question: string, detail: string): Asked {
  return {
    question: { kind: "confirm", question, detail, prepared: false },
    input: (answer) => (answer === true ? {} : null),
  };
}

/** Panes with a program that would be lost: a shell at its prompt has nothing to lose. */
function running(panes: readonly PaneInfo[]): PaneInfo[] {
  return panes.filter(({ state, view }) => view === undefined && state !== "prompt" && state !== "exited");
}

function endedWith(panes: readonly PaneInfo[]): string {
  const programs = [...new Set(panes.map(automaticName))].map((program) => `'${program}'`);
  if (programs.length === 0) return "";
  return `${programs.join(", ")} ${programs.length === 1 ? "runs" : "run"} there and will be ended.`;
}

/** Operations that end programs, or forget what was printed; of `layout.set` only where it closes what it leaves out. */
export const ending: ReadonlySet<string> = new Set([
  ...["session.kill", "session.restart", "session.clear", "pane.close", "pane.respawn", "window.close"],
  ...["server.stop", "history.delete", "checkpoint.forget", "layout.set"],
]);

/** Whether a person is asked before a call of theirs is made. */
export function endsSomething({
  operation,
  input,
}: {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}): boolean {
  return ending.has(operation) && (operation !== "layout.set" || input.close_others === true);
}

/** What is asked before a call to something that the terminal does not show. */
export function endingQuestion(call: string, summary: string): Question {
  return { kind: "confirm", question: `${call}?`, detail: summary, prepared: false };
}

/** An empty name gives the window its automatic one back. */
function naming(now: string): Asked {
  return {
    question: { kind: "text", question: "Name of the window", detail: "Empty: that of its program.", prepared: now },
    input: (answer) => (typeof answer === "string" ? { name: answer.trim() === "" ? null : answer.trim() } : null),
  };
}
