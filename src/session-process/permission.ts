/**
 * Decides whether an AI agent may act on objects that it does not own (docs/security.md, Agents). Reading is free,
 * except for the text of a private session; a change of another owner's object needs a person's permission: given in
 * the dialog, once, for this session or always, or by the setting agents_may = "everything". People, programs and
 * tokens are not asked.
 *
 * Invariants: only an answer at a terminal or page, or by a notice's button, counts, never one by a call; an answer for
 * longer than once counts even after the call that asked has given up; "once" is one call, whose input the dialog
 * shows.
 */
import type { Instance } from "../instance/paths.ts";
import type { AuditLog } from "../log/audit/audit-log.ts";
import type { Operation } from "../operations/define.ts";
import { type Caller, callerIdentity } from "../protocol/caller.ts";
import type { WaitsForPerson } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";
import { type EventConsumer, isNotify } from "../protocol/event-consumers.ts";
import { plain, quoted, visibleJson } from "../protocol/harmless-text.ts";
import { takesQuestions } from "../protocol/notices.ts";
import { agentOfCaller, isSameOwner, type Owner, ownerOf, ownerText } from "../protocol/owner.ts";
import type { Questions } from "../session/questions/questions.ts";
import type { Party, QuestionResult } from "../session/questions/types.ts";
import type { Session } from "../session/session.ts";
import type { Settings } from "../settings/table.ts";
import { Refusals } from "./refusals.ts";

/** Time for which a person is asked, in ms: an agent's host rarely lets a call run longer. */
const QUESTION_MS = 120_000;
/** Longest input of a call, in characters, about which a dialog asks: some screens, which the person can scroll. */
const SHOWN_INPUT = 4_000;
/** The same for a notice, which has one line. */
const NOTICED_INPUT = 160;

/** Calls allowed ahead that have not begun: more than one command names. */
const MOST_PASSES = 64;

const ONCE = "Once";
const SESSION = "In this session";
const ALWAYS = "Always, everywhere";
const REFUSE = "No";

export interface PermissionPort {
  readonly instance: Instance;
  readonly settings: Pick<Settings, "agents_may" | "public_url" | "notify_text">;
  readonly session: Pick<Session, "name" | "tags" | "isAllowed" | "allow"> & {
    readonly questions: Pick<Questions, "ask" | "personPresence" | "retract">;
  };
  /** Current hooks and notices of the settings. */
  eventConsumers(): readonly EventConsumer[];
  audit(): AuditLog | null;
}

/** The subject of a request. */
export interface Subject {
  /** Owners of everything that it affects; null: unknown. */
  readonly owners: readonly (Owner | null)[];
  readonly pane: string;
  /** Whether the session is private, or shows something private. */
  readonly isPrivate: boolean;
  /** The affected objects in words, one a line. */
  about(): readonly string[];
  /** Identifies the affected objects: a permission is void if this changes while the person decides. */
  state(): string;
}

type GuardedOperation = Pick<Operation, "name" | "access" | "summary" | "forAgents">;

/** The agent whose request needs permission, and the owner of the affected object; null: unknown. */
interface MissingPermission {
  readonly agent: Owner;
  readonly other: Owner | null;
  readonly subject: Subject;
}

/** A call about which a person is being asked. */
interface OpenCall {
  readonly agent: string;
  readonly thing: string;
  readonly asker: Party;
  /** The answer to another call, if it decides this one, too. */
  covered: string | null;
}

interface Request {
  readonly op: string;
  readonly input?: unknown;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly waits?: ((waiting: WaitsForPerson) => void) | undefined;
}

export class Permission {
  /** Calls that a person has allowed ahead, once, and the time until which they may begin. */
  private readonly passes = new Map<string, number>();
  private readonly refusals = new Refusals();
  private readonly open = new Set<OpenCall>();

  constructor(private readonly port: PermissionPort) {}

  /**
   * @param subject evaluated only for agents
   * @param ahead whether the same call follows
   * @throws WshError access_denied with the way to get permission
   */
  async require(request: Request, operation: GuardedOperation, subject: () => Subject, ahead = false): Promise<void> {
    const lacking = await this.lacking(request, operation, subject);
    if (lacking === null) return;
    const pass = callKey(lacking, operation, request.input);
    const until = this.passes.get(pass) ?? 0;
    this.passes.delete(pass);
    if (until > performance.now()) return;
    const before = lacking.subject.state();
    const answer = await this.ask(request, lacking, operation);
    if (answer !== ONCE) return;
    if (subject().state() !== before) throw subjectChanged(this.port.session.name, operation.name);
    if (ahead) this.allowAhead(pass);
  }

  /** The same call may begin soon, unless too many others are expected. */
  private allowAhead(pass: string): void {
    const now = performance.now();
    for (const [each, until] of this.passes) if (until <= now) this.passes.delete(each);
    if (this.passes.size < MOST_PASSES) this.passes.set(pass, now + QUESTION_MS);
  }

  /**
   * The agent and owner for which a request needs permission now, regardless of earlier "once" answers; null: it needs
   * none.
   */
  async lacking(
    { caller }: Request,
    { access, forAgents }: GuardedOperation,
    subject: () => Subject,
  ): Promise<MissingPermission | null> {
    if (agentOfCaller(caller) === null || forAgents === "any") return null;
    const found = subject();
    const { owners, isPrivate } = found;
    if (access === "observe" && !isPrivate) return null;
    const agent = ownerOf(caller);
    const others = owners.filter((owner) => owner === null || !isSameOwner(owner, agent));
    if (others.length === 0 || (await this.isAllowed(agent.name))) return null;
    return { agent, other: others.find((owner) => owner !== null) ?? null, subject: found };
  }

  /** Whether a person has allowed the agent everything here. @param name the agent's name as an owner */
  async isAllowed(name: string): Promise<boolean> {
    const isAllowed = await this.allowance(name);
    return isAllowed();
  }

  /** @returns a function that tells whether the agent is allowed everything here at that moment */
  async allowance(name: string): Promise<() => boolean> {
    const { instance, settings, session } = this.port;
    const allowed = await import("../secrets/allowed-agents.ts");
    return () => settings.agents_may === "everything" || session.isAllowed(name) || allowed.isAllowed(instance, name);
  }

  /** Every call asks a question of its own: a person allows the call that they have read, once. @returns the answer */
  private async ask(request: Request, lacking: MissingPermission, operation: GuardedOperation): Promise<string> {
    const pending = this.decide(request, lacking, operation);
    // The caller may have left before the decision.
    pending.catch(() => {});
    const gone = Promise.withResolvers<never>();
    const abort = (): void => gone.reject(request.signal.reason);
    if (request.signal.aborted) abort();
    request.signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([pending, gone.promise]);
    } finally {
      request.signal.removeEventListener("abort", abort);
    }
  }

  /** Whether a notice with buttons would reach a person. */
  private isNoticed(): boolean {
    const { settings, session, eventConsumers } = this.port;
    if (settings.public_url === "" || settings.notify_text !== "full") return false;
    const ways = eventConsumers().filter(isNotify);
    return ways.some((way) => way.way !== "terminals" && way.way !== "command" && takesQuestions(way, session));
  }

  /** A person has answered: an answer for more than this call decides other open calls without a question. */
  private decided({ agent, thing }: OpenCall, answer: string): void {
    if (answer === ONCE) return;
    if (answer === REFUSE) this.refusals.add(agent, thing);
    for (const each of [...this.open]) {
      if (answer === REFUSE ? this.refusals.reasonFor(each.agent, each.thing) === null : each.agent !== agent) continue;
      each.covered = answer;
      this.port.session.questions.retract(each.asker);
    }
  }

  private async decide(
    { op, input, caller, waits }: Request,
    lacking: MissingPermission,
    operation: GuardedOperation,
  ): Promise<string> {
    const { agent, other, subject } = lacking;
    const { session, instance } = this.port;
    const { name } = operation;
    const began = performance.now();
    const isAttached = session.questions.personPresence().people > 0;
    const canAnswer = isAttached || this.isNoticed();
    const text = visibleJson(readable(input));
    const words = [summaryOf(operation), ...subject.about(), ...(text === "{}" ? [] : [text])];
    const length = words.join("").length;
    const most = isAttached ? SHOWN_INPUT : NOTICED_INPUT;
    // Nobody allows what cannot be seen.
    if (canAnswer && length > most) throw inputTooLong(session.name, agent, name, length, most);
    const thing = callKey(lacking, operation, input);
    const again = this.refusals.reasonFor(agent.name, thing);
    if (canAnswer && again !== null) throw refusedAgain(session.name, agent, name, again);
    const whose = other === null ? "Its owner is unknown." : `It belongs to ${ownerText(other)}.`;
    const shown = plain(words.slice(1).join("; ")).slice(0, most);
    // A notice has room for three answers, and shows too little for the unlimited one.
    const choices = isAttached ? [ONCE, SESSION, ALWAYS, REFUSE] : [ONCE, SESSION, REFUSE];
    const who = `the agent ${quoted(agent.name)}`;
    const where = `session '${plain(session.name).replaceAll("'", '"')}'`;
    const asker = { id: callerIdentity(caller), label: agent.name, agent: agent.name };
    if (canAnswer) waits?.({ session: session.name, until: Date.now() + QUESTION_MS });
    const call: OpenCall = { agent: agent.name, thing, asker, covered: null };
    this.open.add(call);
    const asked = session.questions.ask(
      {
        // A notice shows only the question.
        question: `Let ${who} act on ${where}${isAttached ? "" : `: ${name} ${shown}`}?`,
        detail: [...words.map(plain), whose].join("\n"),
        kind: "choice",
        choices,
        multiple: false,
        default: REFUSE,
        timeout_ms: QUESTION_MS,
        max_wait_ms: QUESTION_MS,
        wait_for_person: !isAttached && canAnswer,
      },
      asker,
      subject.pane,
      new AbortController().signal,
      (result) => {
        this.open.delete(call);
        if (isPersons(result)) this.decided(call, answerIn(result));
      },
    );
    const result = await asked.finally(() => this.open.delete(call));
    if (canAnswer) waits?.({ session: session.name, until: 0 });
    const { covered } = call;
    const answer = covered ?? answerIn(result);
    const ms = performance.now() - began;
    const byPerson = result.state === "answered" && isPersons(result);
    const decided = covered !== null || byPerson ? answer : (result.decided_by ?? result.state);
    this.port
      .audit()
      ?.write({ operation: `leave:${op}`, input, context: { caller, session: session.name }, result: decided, ms });
    if (covered === REFUSE) {
      const why = this.refusals.reasonFor(agent.name, thing) ?? "the person has refused it";
      throw refusedAgain(session.name, agent, name, why);
    }
    if (covered !== null) return covered;
    if (answer === SESSION) session.allow(agent.name);
    else if (answer === ALWAYS) await (await import("../secrets/allowed-agents.ts")).allowAgent(instance, agent.name);
    else if (answer !== ONCE) throw refusal(session.name, agent, name, other, result.decided_by === "nobody_attached");
    return answer;
  }
}

function isPersons({ answered_by }: QuestionResult): boolean {
  return answered_by === "terminal" || answered_by === "notice";
}

/** Only a person's answer counts. */
function answerIn(result: QuestionResult): string {
  return result.state === "answered" && isPersons(result) ? String(result.answer) : REFUSE;
}

/** A call as a person decides about it. */
function callKey({ agent, subject }: MissingPermission, { name }: GuardedOperation, input: unknown): string {
  return JSON.stringify([agent.name, name, subject.state(), input ?? {}]);
}

/** An operation in words. Reading needs permission only in a private session. */
function summaryOf({ access, summary }: GuardedOperation): string {
  const [first = "", ...rest] = summary;
  return access === "observe" ? `Read from a private session: ${first.toLowerCase()}${rest.join("")}.` : `${summary}.`;
}

/** The whole input; bytes that a call types are shown as text. */
function readable(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input ?? {};
  const isBytes = "encoding" in input && input.encoding === "base64" && "data" in input;
  return isBytes ? { ...input, data: Buffer.from(String(input.data), "base64").toString() } : input;
}

function inputTooLong(session: string, agent: Owner, operation: string, length: number, most: number): WshError {
  const why = `its input is too long to be shown to a person: ${length} characters, at most ${most}`;
  return new WshError("access_denied", `${agent.name} may not ${operation} in '${session}': ${why}`, {
    hint: "Use a session of your own, or send less at a time.",
  });
}

function subjectChanged(session: string, operation: string): WshError {
  const message = `what '${operation}' would affect in '${session}' has changed while the person was asked`;
  return new WshError("access_denied", message, { hint: "Check it, then try again." });
}

function refusedAgain(session: string, agent: Owner, operation: string, again: string): WshError {
  return new WshError("access_denied", `${agent.name} may not ${operation} in '${session}': ${again}`, {
    hint: "Use a session of your own. Do not try another way.",
  });
}

function refusal(session: string, agent: Owner, operation: string, other: Owner | null, isAlone: boolean): WshError {
  const whose = other === null ? "" : `; it belongs to ${ownerText(other)}`;
  const why = isAlone ? "and nobody is attached who could allow it" : "and the person has not allowed it";
  return new WshError("access_denied", `${agent.name} may not ${operation} in '${session}'${whose}, ${why}`, {
    hint: isAlone
      ? `Use a session of your own, or ask a person to attach, or to run: wsh agents --allow '${agent.name}'`
      : "Use a session of your own. Do not try another way.",
  });
}
