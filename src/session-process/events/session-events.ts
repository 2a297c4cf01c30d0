/** Events of a session, its windows and its terminals, for the journal. */
import type { PtyExit } from "../../pty/port.ts";
import type { Session } from "../../session/session.ts";
import type { Recorder } from "./recorder.ts";

/** Longest question in the journal, in characters. */
const MAX_QUESTION = 500;

/** @param isRestored whether the session had crashed and is restored */
export function recordSession(session: Session, recorder: Recorder, isRestored: boolean): void {
  const { events } = session;
  const restored = isRestored ? { restored: true } : {};
  recorder.begin({ event: "session_created", ...restored, command: session.pane.command, pane: session.pane.id });
  events.on("renamed", ({ old_name }) => recorder.record({ event: "session_renamed", old_name }));
  events.on("tagged", ({ added, removed }) =>
    recorder.record({ event: "session_tags_changed", added: [...added], removed: [...removed] }),
  );
  events.on("layout", (event) => recorder.record(event));
  events.on("warned", ({ at: ends_at, why: reason }) => recorder.record({ event: "session_ending", ends_at, reason }));
  events.on("exited", (exit) => recorder.record({ event: "session_exited", ...exitFields(exit) }));
  events.on("destroyed", ({ reason, exit }) =>
    recorder.record({ event: "session_destroyed", reason, ...exitFields(exit) }),
  );
  events.on("resized", ({ rows, cols }) => recorder.record({ event: "session_resized", rows, cols }));
  events.on("viewer", ({ event, viewer }) => {
    const { rows, cols } = viewer.size;
    const size = event === "detached" ? {} : { rows, cols };
    const page = viewer.page === null || event !== "attached" ? {} : { page: viewer.page };
    recorder.record({ event, client: viewer.id, ...size, ...page });
  });
  events.on("question", ({ id: ask_id, pane, question, askedBy: asked_by, end }) => {
    if (end !== null) {
      recorder.record({ event: "question_answered", ask_id, pane, decided_by: end });
      return;
    }
    const questionText = question.question.slice(0, MAX_QUESTION);
    const choices = question.kind === "choice" ? { choices: [...question.choices] } : {};
    const { kind } = question;
    recorder.record({
      event: "question_asked",
      ask_id,
      pane,
      kind,
      question: questionText,
      ...choices,
      asked_by,
    });
  });
}

function exitFields({ code, signal }: PtyExit): { exit_code: number | null; signal: string | null } {
  return { exit_code: code, signal };
}
