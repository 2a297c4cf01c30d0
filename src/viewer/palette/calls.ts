/**
 * Runs calls that a person types as a line or binds to a key: in the terminal's own session, in others, or in the
 * server.
 */
import type { Instance } from "../../instance/paths.ts";
import type { Binding } from "../../keys/bindings.ts";
import { parseBindingLine } from "../../keys/configured.ts";
import { TARGET_PARAMETER } from "../../keys/line.ts";
import type { Operation } from "../../operations/define.ts";
import { lineCall } from "../../operations/line-input.ts";
import { requireRights } from "../../operations/rights.ts";
import { findOperation, getOperation } from "../../operations/table.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { Acting } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/question.ts";
import { endingQuestion } from "../../session/windows/prior-questions.ts";
import { askServerOperation, askTarget } from "../calls/ask-process.ts";
import { findPermittedSession } from "../calls/permitted-targets.ts";

/** @param answer replaces `%%` in parameters @throws WshError invalid_request, unknown_method */
export function parsePaletteLine(line: string, answer: string | null = null): Binding {
  return parseBindingLine(line, { readCall: (each) => lineCall(each, TARGET_PARAMETER) }, answer);
}

/** The answer, if the person should see it; else null. */
export function answerToShow({ operation }: Binding, answer: unknown): unknown {
  const definition = findOperation(operation);
  if (definition === undefined || answer === null || answer === undefined) return null;
  return definition.access === "observe" || definition.showsAnswer === true ? answer : null;
}

interface CallPort {
  readonly instance: Instance;
  readonly by: Acting;
  ask(question: Question, act: (answer: Answer) => Promise<void>): void;
}

/**
 * Runs calls that the server or another session, window or pane handles. Asks the person first if something would
 * end.
 * @returns the answer; null: the person is being asked
 * @throws WshError of the operation
 */
export async function callElsewhere(
  { operation: name, input, target, description }: Binding,
  signal: AbortSignal,
  { instance, by, ask }: CallPort,
): Promise<unknown> {
  const operation = findOperation(name);
  if (operation === undefined) throw new WshError("unknown_method", `no operation '${name}'`);
  if (target !== undefined) findPermittedSession(instance, by, target);
  requireRights(by, operation, target === undefined ? null : (by.caller.only ?? null), input);
  const call = (callSignal: AbortSignal): Promise<unknown> =>
    target === undefined
      ? askServerOperation(instance, by, getOperation(operation.name).name, input, callSignal)
      : askTarget(instance, by, target, { operation: operation.name, input }, callSignal);
  if (!endsSomething(operation, input)) return call(signal);
  ask(endingQuestion(description, operation.summary), async (answer) => {
    if (answer === true) await call(new AbortController().signal);
  });
  return null;
}

/** `layout.set` ends something only if it closes the panes that it omits. */
function endsSomething({ name, ends }: Operation, input: Binding["input"]): boolean {
  return ends !== undefined && (name !== "layout.set" || input.close_others === true);
}
