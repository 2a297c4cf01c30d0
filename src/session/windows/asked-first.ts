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
  const running = panes.filter(({ state, view }) => view === undefined && state !== "prompt" && state !== "exited");
  if (running.length === 0 && session === null) return null;
  const programs = [...new Set(running.map(automaticName))].map((program) => `'${program}'`);
  const detail =
    programs.length === 0
      ? ""
      : `${programs.join(", ")} ${programs.length === 1 ? "runs" : "run"} there and will be ended.`;
  const question =
    session === null ? `Close the ${what}?` : `Close the last ${what}? That ends the session '${session}'.`;
  return {
    question: { kind: "confirm", question, detail, prepared: false },
    input: (answer) => (answer === true ? {} : null),
  };
}

/** An empty name gives the window its automatic one back. */
function naming(now: string): Asked {
  return {
    question: { kind: "text", question: "Name of the window", detail: "Empty: that of its program.", prepared: now },
    input: (answer) => (typeof answer === "string" ? { name: answer.trim() === "" ? null : answer.trim() } : null),
  };
}
