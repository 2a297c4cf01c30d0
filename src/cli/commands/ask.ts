/** `wsh ask`: asks the person at an attached terminal, and prints the answer. */
import { type Command, Option } from "commander";
import { orUntil } from "../../base/deadline.ts";
import type { Instance } from "../../instance/paths.ts";
import type { OperationInput } from "../../operations/table.ts";
import type { AskResult } from "../../protocol/ask-result.ts";
import { type PersonThere, type QuestionKind, questionKinds, sessionToAsk } from "../../protocol/asking.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, sessionId } from "../../protocol/names.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import { listSessions } from "../../registry/registry.ts";
import { collect, seconds, UsageError } from "../arguments.ts";
import { GRANTED_PANE, grantSocket } from "../grant/sandbox-client.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText, table } from "../print.ts";
import { exitCodeOf, printAnswer } from "../session/ask-result.ts";
import { SessionClient } from "../session/client.ts";

/** Longest wait for a session process to answer, in ms: a hanging process has no dialog to show. */
const PATIENCE_MS = 900;

interface AskOptions {
  readonly session?: string;
  readonly kind?: QuestionKind;
  readonly choice?: readonly string[];
  readonly multiple?: boolean;
  readonly detail?: string;
  readonly default?: readonly string[];
  readonly timeout?: number;
  readonly wait?: number;
  readonly waitForPerson?: boolean;
  readonly cancel?: string;
  readonly answer?: string;
  readonly list?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("ask [question]")
    .description(
      "Ask the person at an attached terminal in a dialog, and print the answer. Without --session, the dialog opens " +
        "at the terminal used last; if none is attached, a [[notify]] way asks. Interrupting the command leaves the question open. A secret is typed into " +
        "the program that reads a password in the pane named by --session, and is never printed; a hand-over ends " +
        "when the person hands the program back.\n" +
        "Exit code 0 for an answer, 1 for no, dismissed, or no attached terminal, 124 on timeout.",
    )
    .option("--session <name>", "ask in this session")
    .addOption(new Option("--kind <kind>", "default: choice with --choice, else text").choices([...questionKinds]))
    .option("--choice <text>", "add a choice (repeatable)", collect)
    .option("--multiple", "allow several choices")
    .option("--detail <text>", "details, shown below the question")
    .option("--default <answer>", "preselected answer (confirm: yes or no), repeatable", collect)
    .option("--timeout <seconds>", "lifetime of the question (default: 600)", seconds)
    .option("--wait <seconds>", "wait only this long; the question stays open", seconds)
    .option("--wait-for-person", "ask even if no terminal is attached (outside of sessions, with --session)")
    .option("--list", "show the open questions")
    .option("--cancel <ask-id>", "close a question without an answer")
    .option(
      "--answer <ask-id>",
      "answer a question: with text, yes or no, or --choice; the result records that a call answered",
    )
    .option("--json", "print the whole result as JSON")
    .action(async (question: string | undefined, options: AskOptions, command: Command) => {
      const instance = instanceOf(command);
      if (options.list === true) return list(instance, options);
      const { cancel: unwanted, answer: wanted } = options;
      if (unwanted !== undefined) {
        return endQuestion(instance, options, (session) => session.call("ask.cancel", { ask_id: unwanted }));
      }
      if (wanted !== undefined) {
        return endQuestion(instance, options, (session) => answer(session, wanted, question, options));
      }
      if (question === undefined) throw new UsageError("the question is missing");
      const result = await ask(instance, inputOf(question, options), options);
      if (options.json !== true) return printAnswer(result);
      process.exitCode = exitCodeOf(result);
      return printJson(result);
    });
}

function inputOf(question: string, options: AskOptions): OperationInput<"ask"> {
  const { kind, choice, multiple, detail, timeout, waitForPerson, default: given } = options;
  return {
    question,
    ...defined({ kind }),
    ...(choice === undefined ? {} : { choices: [...choice] }),
    ...defined({ multiple, detail }),
    ...(given === undefined ? {} : { default: preparedOf(kind, given) }),
    ...defined({ timeout_ms: timeout, wait_for_person: waitForPerson }),
  };
}

/** @throws UsageError */
function preparedOf(kind: QuestionKind | undefined, given: readonly string[]): string | string[] | boolean {
  const [first = ""] = given;
  if (kind !== "confirm") return given.length === 1 ? first : [...given];
  if (first !== "yes" && first !== "no") throw new UsageError(`'${first}' is neither yes nor no`);
  return first === "yes";
}

async function ask(instance: Instance, input: OperationInput<"ask">, options: AskOptions): Promise<AskResult> {
  using session = await sessionOf(instance, options, input.kind === "secret");
  if (session === null) return { session: null, state: "closed", decided_by: "nobody_attached" };
  const until = performance.now() + (options.wait ?? Number.POSITIVE_INFINITY);
  const remainingMs = (): number => Math.max(0, Math.min(MAX_WAIT_MS, Math.round(until - performance.now())));
  let result = await session.call("ask", { ...input, max_wait_ms: remainingMs() });
  while (result.state === "pending" && result.ask_id !== undefined && remainingMs() > 0) {
    const waited = await session.call("wait", {
      any_of: [{ type: "answer", ask_id: result.ask_id }],
      max_wait_ms: remainingMs(),
    });
    result = waited.ask ?? result;
  }
  return result;
}

/**
 * The session to ask in; null: nobody can be reached, and this command runs in no session. @throws
 * UsageError, WshError session_not_found
 */
async function sessionOf(instance: Instance, options: AskOptions, isSecret: boolean): Promise<SessionClient | null> {
  if (grantSocket() !== null) return SessionClient.open(instance, GRANTED_PANE);
  if (options.session !== undefined) return SessionClient.open(instance, options.session);
  const surroundingPane = process.env.WSH_PANE;
  if (isSecret) throw new UsageError("name the session with --session");
  const people: (PersonThere & { readonly session: SessionClient })[] = [];
  for (const session of await openSessions(instance)) {
    const person = await session.call("ask.person", {}).catch(() => ({ people: 0, acted_ms: null }));
    people.push({ session, ...person });
  }
  const best = sessionToAsk(people);
  // A question from within a session waits there for a notice or a person.
  const asksInside = surroundingPane !== undefined && (best === null || best.people === 0);
  for (const { session } of people) if (asksInside || session !== best?.session) session[Symbol.dispose]();
  if (asksInside) return SessionClient.open(instance, surroundingPane);
  if (best === null && options.waitForPerson === true)
    throw new UsageError("no terminal is attached: name the session that keeps the question with --session");
  return best?.session ?? null;
}

/** The session processes that answer; the caller closes the connections. */
async function openSessions(instance: Instance): Promise<SessionClient[]> {
  const opened = await Promise.all(
    listSessions(instance).map(({ id, session }) => {
      const target = session === null ? paneId(id) : sessionId(session);
      const opening = SessionClient.open(instance, target).catch(() => null);
      return orUntil(opening, { ms: PATIENCE_MS }, () => {
        void opening.then((late) => late?.[Symbol.dispose]());
        return null;
      });
    }),
  );
  return opened.flatMap((session) => {
    // A process that only shows a crashed or ended session has no questions.
    if (session?.info?.running !== false) return session ?? [];
    session[Symbol.dispose]();
    return [];
  });
}

async function list(instance: Instance, { session: name, json }: AskOptions): Promise<void> {
  const sessions = name === undefined ? await openSessions(instance) : [await SessionClient.open(instance, name)];
  const questions = [];
  for (const session of sessions) {
    using open = session;
    for (const each of await open.call("ask.list", {}).catch(() => [])) questions.push({ session: open.name, ...each });
  }
  if (json === true) return printJson(questions);
  if (questions.length === 0) return printText("no open questions\n");
  const rows = questions.map((each) => [
    each.session,
    each.kind,
    each.state,
    each.asked_by,
    each.ask_id,
    each.question,
  ]);
  return print(table([["SESSION", "KIND", "STATE", "ASKED BY", "ASK_ID", "QUESTION"], ...rows]));
}

/** Answers in the form that the question's kind requires. @throws UsageError, WshError question_not_found */
async function answer(
  session: SessionClient,
  ask_id: string,
  text: string | undefined,
  { choice = [] }: AskOptions,
): Promise<AskResult> {
  const question = (await session.call("ask.list", {})).find((each) => each.ask_id === ask_id);
  const given = text === undefined ? choice : [text, ...choice];
  if (given.length === 0) throw new UsageError("the answer is missing");
  const isList = question?.kind === "choice" && question.multiple === true;
  const prepared = isList ? [...given] : preparedOf(question?.kind, given);
  return session.call("ask.answer", { ask_id, answer: prepared });
}

/** Closes a question in the session that has it. @throws WshError question_not_found, and errors of closing it */
async function endQuestion(
  instance: Instance,
  { session: name, json, cancel: unwanted, answer: wanted }: AskOptions,
  act: (session: SessionClient) => Promise<AskResult>,
): Promise<void> {
  const sessions = name === undefined ? await openSessions(instance) : [await SessionClient.open(instance, name)];
  let refusal = new WshError("question_not_found", `no question '${unwanted ?? wanted}'`);
  let endResult: AskResult | null = null;
  for (const session of sessions) {
    using open = session;
    if (endResult !== null) continue;
    try {
      endResult = await act(open);
    } catch (thrown) {
      if (thrown instanceof UsageError) throw thrown;
      const error = WshError.from(thrown);
      if (error.code !== "question_not_found" || name !== undefined || error.message.includes("over")) refusal = error;
    }
  }
  if (endResult === null) throw refusal;
  if (json === true) await printJson(endResult);
}
