/**
 * The requests that a grant may make. Pure: each request is rewritten for the grant, or refused. An operation's
 * definition names the right that permits it; every other operation is refused. Forwarded requests lack every field
 * through which a sandbox could reach outside (other panes, views, environments, floats, focus, transcripts).
 */
import * as v from "valibot";
import { findOperation, inputSchema } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import type { GrantRight } from "../../protocol/grants.ts";
import { parse } from "../../protocol/parse.ts";
import { quote } from "../../shell/quoting.ts";

/** A pane that a grant may act on. */
export interface GrantedPane {
  readonly id: string;
  /** Id of the session in which the pane was lent or made; a pane that moves elsewhere leaves the grant. */
  readonly session: string;
  /** The program for which the pane was made; absent: it was lent, whatever runs in it. */
  readonly program?: number;
}

export interface GrantState {
  /** The grant's name in dialogs and messages. */
  readonly name: string;
  readonly may: ReadonlySet<GrantRight>;
  /** The pane and session of `ask`, `notify` and `hook`; new panes are made beside this pane. */
  readonly home: GrantedPane;
  readonly panes: Map<string, GrantedPane>;
  readonly openQuestions: Set<string>;
  /** The words that run a program in the sandbox; null: the grant cannot make panes. */
  readonly sandboxCommand: readonly string[] | null;
  /** The process that an agent's hook reports for. */
  readonly reporter: number;
}

interface Granted {
  readonly op: string;
  readonly input: object;
  readonly pane: GrantedPane;
}

/** Kinds of questions that type nothing and hand over no terminal. */
const plainKinds: ReadonlySet<string> = new Set(["choice", "text", "confirm"]);
/** Fields by which a call would create a session. */
const CREATING = ["create", "cwd", "env", "port", "tags", "shell", "name_prefix"];

const WaitSchema = v.looseObject({ any_of: v.array(v.unknown()) });
const AnswerSchema = v.looseObject({ type: v.literal("answer"), ask_id: v.string() });
const ShellSchema = v.picklist(["left", "right", "up", "down"]);
const SplitSchema = v.object({
  command: v.optional(v.nullable(v.string())),
  cwd: v.optional(v.nullable(v.string())),
  title: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(256)))),
  keep_after_exit: v.optional(v.nullable(v.union([v.boolean(), v.literal("failed")]))),
  direction: v.optional(ShellSchema),
  cells: v.optional(v.number()),
  percent: v.optional(v.number()),
});

/** @param target as the caller wrote it @throws WshError access_denied, invalid_request */
export function grantRequest(grant: GrantState, op: string, input: unknown, target: string | undefined): Granted {
  const right = findOperation(op)?.grant;
  if (right === undefined) throw denied(grant, op);
  const fields = parse(v.record(v.string(), v.unknown()), input ?? {});
  const home = (shaped: object): Granted => ({ op, input: shaped, pane: grant.home });
  if (op === "wait" && isForAnswers(fields)) {
    requireRight(grant, op, "ask");
    requireOwnQuestions(grant, fields);
    return home(fields);
  }
  requireRight(grant, op, right);
  switch (op) {
    case "ask": {
      const { kind = "text" } = parse(inputSchema("ask"), fields);
      if (!plainKinds.has(kind)) throw denied(grant, `ask of kind '${kind}'`);
      return home(fields);
    }
    case "ask.cancel":
      if (!grant.openQuestions.has(String(fields.ask_id)))
        throw new WshError("question_not_found", "this grant did not ask that question");
      return home(fields);
    case "terminal.show": {
      const { message } = parse(inputSchema("terminal.show"), fields);
      if (message === undefined) throw denied(grant, "terminal.show without a message");
      return home({ message: `${grant.name}: ${message}` });
    }
    case "agent.report": {
      // The line that resumes a conversation would run outside of the sandbox; its transcript could name any file.
      const { conversation: _, ...report } = parse(inputSchema("agent.report"), { ...fields, pid: grant.reporter });
      return home(report);
    }
    case "pane.split":
      return home(splitOf(grant, fields));
    case "pane.list":
    case "window.list":
      return home({});
    default: {
      const pane = grant.panes.get(target ?? "");
      if (pane === undefined) throw notOwn(target);
      const { length } = CREATING.filter((field) => field in fields);
      if (length > 0)
        throw new WshError("invalid_request", `a grant cannot create sessions: omit ${CREATING.join(", ")}`);
      if (op === "wait" && namesAnswer(fields)) requireOwnQuestions(grant, fields);
      return { op, input: fields, pane };
    }
  }
}

/** The program of a new pane: inside the sandbox, whatever shell the person uses. */
function splitOf(grant: GrantState, given: object): object {
  const { sandboxCommand } = grant;
  if (sandboxCommand === null) {
    throw new WshError("access_denied", "this grant cannot create panes: they would run outside the sandbox", {
      hint: "Start it with --in 'bwrap …', the command prefix that runs a program inside.",
    });
  }
  const { command, cwd, ...rest } = parse(SplitSchema, given);
  const script = `${cwd == null ? "" : `cd -- ${quote(cwd)} && `}${command ?? "exec sh"}`;
  const words = [...withoutRights(grant.name), ...sandboxCommand, "sh", "-c", script];
  // The title shows the person which panes are a sandbox's.
  const title = `${grant.name}: ${rest.title ?? command ?? "sh"}`.slice(0, 256);
  return { ...rest, title, focus: false, float: false, shell: "sh", cwd: "/", command: words.map(quote).join(" ") };
}

/** Whether a variable would lead a program to wsh's sockets. */
export function isOfWsh(name: string): boolean {
  return /^(?:WSH_|TMUX)/.test(name);
}

/** The words before a pane's program that remove variables with further rights from its environment. */
function withoutRights(name: string): string[] {
  const unset = ["WSH_SOCKET", "WSH_PANE", "WSH_SESSION", "WSH_SERVER_NAME", "WSH_CONFIG", "WSH_TOKEN"];
  const removed = [...unset, "TMUX", "TMUX_PANE", "TMUX_TMPDIR"].flatMap((variable) => ["-u", variable]);
  return ["env", ...removed, `WSH_AGENT=${name}`];
}

function conditionsOf(given: object): readonly unknown[] {
  const parsed = v.safeParse(WaitSchema, given);
  return parsed.success ? parsed.output.any_of : [];
}

function isForAnswers(given: object): boolean {
  const conditions = conditionsOf(given);
  return conditions.length > 0 && conditions.every((each) => v.is(AnswerSchema, each));
}

function namesAnswer(given: object): boolean {
  return conditionsOf(given).some((each) => v.is(AnswerSchema, each));
}

function requireOwnQuestions({ openQuestions }: GrantState, given: object): void {
  for (const each of conditionsOf(given)) {
    if (v.is(AnswerSchema, each) && !openQuestions.has(each.ask_id))
      throw new WshError("question_not_found", "this grant did not ask that question");
  }
}

function requireRight(grant: GrantState, op: string, right: GrantRight): void {
  if (!grant.may.has(right)) throw denied(grant, op);
}

function denied({ may, name }: GrantState, what: string): WshError {
  return new WshError("access_denied", `'${what}' is not among the rights of ${name}: ${[...may].join(", ")}`);
}

function notOwn(target: string | undefined): WshError {
  const what = target === undefined || target === "" ? "no pane" : `'${target}'`;
  return new WshError("session_not_found", `${what} is not a pane of this grant`, {
    hint: "`wsh pane list` shows its panes with their ids.",
  });
}
