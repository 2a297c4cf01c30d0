/** What another machine answers to an operation, whatever carries it: checked by the operation's own schema. */
import * as v from "valibot";
import { getOperation, type OperationName, type OperationOutput } from "../operations/table.ts";
import { WshError } from "../protocol/errors.ts";
import { type Asked, outcomeUnknown } from "./ask-again.ts";

export const AnswerSchema = v.union([
  v.object({ result: v.unknown() }),
  v.object({ error: v.looseObject({ code: v.string(), message: v.string() }) }),
]);

const AnswerTextSchema = v.pipe(v.string(), v.parseJson(), AnswerSchema);

/** @throws WshError what the operation threw there; outcome_unknown for what can be no answer: it was carried out */
export function readAnswer<N extends OperationName>(
  asked: Asked & { readonly operation: N },
  text: string,
): OperationOutput<N> {
  const answer = v.safeParse(AnswerTextSchema, text);
  if (!answer.success) throw outcomeUnknown(asked, "its answer is none that it could have");
  if ("error" in answer.output) {
    const body: Readonly<Record<string, unknown>> = { ...answer.output.error, machine: asked.machine };
    throw WshError.fromBody(body);
  }
  const { result } = answer.output;
  if (v.is(getOperation(asked.operation).output, result)) return result as OperationOutput<N>;
  throw outcomeUnknown(asked, "its answer is none that it could have");
}
