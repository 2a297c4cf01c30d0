/**
 * Decides whether an AI agent may act on objects that it does not own (docs/security.md, Agents). Reading is
 * free, except for the text of a private session. A change of another owner's object needs a person's permission,
 * which is given in the dialog (once, in this session, or always) or by the setting agents_may = "everything".
 * People, programs and tokens need none.
 *
 * Invariants: an answer counts only if it was given at a terminal, on the page or by a notice's button, never by
 * a call. An answer for longer than "once" counts even after the asking call has given up. "Once" allows exactly
 * the call whose input the dialog shows.
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

/** Lifetime of the question, in ms: an AI host rarely lets a call run longer. */
const QUESTION_MS = 120_000;
/** Longest input of a call that a dialog shows, in characters: some screens, which the person can scroll. */
const MAX_DIALOG_INPUT = 4_000;
/** The same for a notice, which has one line. */
const MAX_NOTICE_INPUT = 160;

/** Maximum calls that are allowed in advance and have not begun: more than one command names. */
const MAX_PASSES = 64;

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
export interface PermissionSubject {
  /** Owners of everything that it affects; null: unknown. */
  readonly owners: readonly (Owner | null)[];
  readonly pane: string;
  /** Whether the session is private, or shows something private. */
  readonly isPrivate: boolean;
  /** Name of another session, which shows the pane that runs here; null: it is this session's. */
  readonly shownIn: string | null;
  /** Describes the affected objects, one per line. */
  describe(): readonly string[];
  /** Identifies the affected objects: a permission is void if this changes while the person decides. */
  fingerprint(): string;
}

type GuardedOperation = Pick<Operation, "name" | "access" | "summary" | "forAgents">;

/** The agent whose request needs permission, and the owner of the affected object; null: unknown. */
interface MissingPermission {
  readonly agent: Owner;
  readonly otherOwner: Owner | null;
  readonly subject: PermissionSubject;
}

/** A call about which a person is being asked. */
interface OpenCall {
  readonly agent: string;
  readonly key: string;
  /** Whether a permission for this session covers it. */
  readonly isOfSession: boolean;
  readonly asker: Party;
  /** The answer to another call that also decides this one; null: there is none. */
  coveringAnswer: string | null;
}

interface CheckedRequest {
  readonly op: string;
  readonly input?: unknown;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly waits?: ((waiting: WaitsForPerson) => void) | undefined;
  /** Throws the error of an input that is always refused: no person is asked about it. */
  requireValid?(): void;
}

export class Permission {
  /** Calls that a person has allowed once in advance, and the time until which they may begin. */
  private readonly passes = new Map<string, number>();
  private readonly refusals = new Refusals();
  private readonly openCalls = new Set<OpenCall>();

  constructor(private readonly port: PermissionPort) {}

  /**
   * @param subject evaluated only for agents
   * @param ahead whether permission is asked in advance: the same call follows
   * @throws WshError access_denied with the way to get permission
   */
  async require(
    request: CheckedRequest,
    operation: GuardedOperation,
    subject: () => PermissionSubject,
    ahead = false,
  ): Promise<void> {
    const missing = await this.findMissing(request, operation, subject);
    if (missing === null) return;
    const key = callKey(missing, operation, request.input);
    const until = this.passes.get(key) ?? 0;
    this.passes.delete(key);
    if (until > performance.now()) return;
    const before = missing.subject.fingerprint();
    const answer = await this.ask(request, missing, operation);
    if (answer === SESSION && subject().shownIn !== missing.subject.shownIn)
      throw subjectChangedError(this.port.session.name, operation.name);
    if (answer !== ONCE) return;
    if (subject().fingerprint() !== before) throw subjectChangedError(this.port.session.name, operation.name);
    if (ahead) this.allowAhead(key);
  }

  /** Lets the same call begin soon without a question, unless too many others are expected. */
  private allowAhead(key: string): void {
    const now = performance.now();
    for (const [each, until] of this.passes) if (until <= now) this.passes.delete(each);
    if (this.passes.size < MAX_PASSES) this.passes.set(key, now + QUESTION_MS);
  }

  /**
   * The agent and owner for which a request needs permission now, regardless of earlier "once" answers; null: it needs
   * none.
   */
  async findMissing(
    { caller }: CheckedRequest,
    { access, forAgents }: GuardedOperation,
    subject: () => PermissionSubject,
  ): Promise<MissingPermission | null> {
    if (agentOfCaller(caller) === null || forAgents === "any") return null;
    const affected = subject();
    const { owners, isPrivate, shownIn } = affected;
    if (access === "observe" && !isPrivate) return null;
    const agent = ownerOf(caller);
    const otherOwners = owners.filter((owner) => owner === null || !isSameOwner(owner, agent));
    if (otherOwners.length === 0 || (await this.isAllowed(agent.name, shownIn === null))) return null;
    return { agent, otherOwner: otherOwners.find((owner) => owner !== null) ?? null, subject: affected };
  }

  /**
   * Whether a person has allowed the agent everything here.
   * @param name the agent's name as an owner
   * @param isOfSession whether a permission for this session counts
   */
  async isAllowed(name: string, isOfSession = true): Promise<boolean> {
    const isAllowed = await this.allowanceCheck(name, isOfSession);
    return isAllowed();
  }

  /** @returns a function that tells whether the agent is allowed everything here at that moment */
  async allowanceCheck(name: string, isOfSession = true): Promise<() => boolean> {
    const { instance, settings, session } = this.port;
    const allowedAgents = await import("../secrets/allowed-agents.ts");
    return () =>
      settings.agents_may === "everything" ||
      (isOfSession && session.isAllowed(name)) ||
      allowedAgents.isAllowed(instance, name);
  }

  /** Asks a question for this call alone: "once" allows the call that the person has read. @returns the answer */
  private async ask(request: CheckedRequest, missing: MissingPermission, operation: GuardedOperation): Promise<string> {
    const decision = this.decide(request, missing, operation);
    // The caller may have left before the decision.
    decision.catch(() => {});
    const callerGone = Promise.withResolvers<never>();
    const abort = (): void => callerGone.reject(request.signal.reason);
    if (request.signal.aborted) abort();
    request.signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([decision, callerGone.promise]);
    } finally {
      request.signal.removeEventListener("abort", abort);
    }
  }

  /** Whether a notice with buttons would reach a person. */
  private canNotify(): boolean {
    const { settings, session, eventConsumers } = this.port;
    if (settings.public_url === "" || settings.notify_text !== "full") return false;
    const notifiers = eventConsumers().filter(isNotify);
    return notifiers.some(
      (notifier) => notifier.way !== "terminals" && notifier.way !== "command" && takesQuestions(notifier, session),
    );
  }

  /** Applies a person's answer to the other open calls that it decides as well. */
  private applyToOpenCalls({ agent, key }: OpenCall, answer: string): void {
    if (answer === ONCE) return;
    if (answer === REFUSE) this.refusals.add(agent, key);
    for (const each of [...this.openCalls]) {
      if (answer === REFUSE ? this.refusals.reasonFor(each.agent, each.key) === null : each.agent !== agent) continue;
      if (answer === SESSION && !each.isOfSession) continue;
      each.coveringAnswer = answer;
      this.port.session.questions.retract(each.asker);
    }
  }

  private async decide(
    request: CheckedRequest,
    missing: MissingPermission,
    operation: GuardedOperation,
  ): Promise<string> {
    const { op, input, caller, waits } = request;
    const { agent, otherOwner, subject } = missing;
    const { session, instance } = this.port;
    const { name } = operation;
    const startedAt = performance.now();
    const isAttached = session.questions.personPresence().people > 0;
    const canAnswer = isAttached || this.canNotify();
    if (canAnswer) request.requireValid?.();
    const inputText = visibleJson(readableInput(input));
    const descriptionLines = [
      describeOperation(operation),
      ...subject.describe(),
      ...(inputText === "{}" ? [] : [inputText]),
    ];
    const length = descriptionLines.join("").length;
    const maxLength = isAttached ? MAX_DIALOG_INPUT : MAX_NOTICE_INPUT;
    // A person cannot allow a call that the dialog does not show.
    if (canAnswer && length > maxLength) throw inputTooLongError(session.name, agent, name, length, maxLength);
    const key = callKey(missing, operation, input);
    const earlierRefusal = this.refusals.reasonFor(agent.name, key);
    if (canAnswer && earlierRefusal !== null) throw refusedAgainError(session.name, agent, name, earlierRefusal);
    const ownerSentence = otherOwner === null ? "Its owner is unknown." : `It belongs to ${ownerText(otherOwner)}.`;
    const noticeText = plain(descriptionLines.slice(1).join("; ")).slice(0, maxLength);
    // A notice has room for three answers, and shows too little for the unlimited one.
    const isOfSession = subject.shownIn === null;
    const choices = [ONCE, ...(isOfSession ? [SESSION] : []), ...(isAttached ? [ALWAYS] : []), REFUSE];
    const agentText = `the agent ${quoted(agent.name)}`;
    const sessionText = `session '${plain(subject.shownIn ?? session.name).replaceAll("'", '"')}'`;
    const asker = { id: callerIdentity(caller), label: agent.name, agent: agent.name };
    if (canAnswer) waits?.({ session: session.name, until: Date.now() + QUESTION_MS });
    const openCall: OpenCall = { agent: agent.name, key, isOfSession, asker, coveringAnswer: null };
    this.openCalls.add(openCall);
    const pendingResult = session.questions.ask(
      {
        // A notice shows only the question.
        question: `Let ${agentText} act on ${sessionText}${isAttached ? "" : `: ${name} ${noticeText}`}?`,
        detail: [...descriptionLines.map(plain), ownerSentence].join("\n"),
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
        this.openCalls.delete(openCall);
        if (isByPerson(result)) this.applyToOpenCalls(openCall, personsAnswer(result));
      },
    );
    const result = await pendingResult.finally(() => this.openCalls.delete(openCall));
    if (canAnswer) waits?.({ session: session.name, until: 0 });
    const { coveringAnswer } = openCall;
    const answer = coveringAnswer ?? personsAnswer(result);
    const ms = performance.now() - startedAt;
    const byPerson = result.state === "answered" && isByPerson(result);
    const auditResult = coveringAnswer !== null || byPerson ? answer : (result.decided_by ?? result.state);
    this.port
      .audit()
      ?.write({ operation: `leave:${op}`, input, context: { caller, session: session.name }, result: auditResult, ms });
    if (coveringAnswer === REFUSE) {
      const why = this.refusals.reasonFor(agent.name, key) ?? "the person has refused it";
      throw refusedAgainError(session.name, agent, name, why);
    }
    if (coveringAnswer !== null) return coveringAnswer;
    if (answer === SESSION) session.allow(agent.name);
    else if (answer === ALWAYS) await (await import("../secrets/allowed-agents.ts")).allowAgent(instance, agent.name);
    else if (answer !== ONCE)
      throw refusalError(session.name, agent, name, otherOwner, result.decided_by === "nobody_attached");
    return answer;
  }
}

function isByPerson({ answered_by }: QuestionResult): boolean {
  return answered_by === "terminal" || answered_by === "notice";
}

/** Only a person's answer counts. */
function personsAnswer(result: QuestionResult): string {
  return result.state === "answered" && isByPerson(result) ? String(result.answer) : REFUSE;
}

/** Identifies the call that a person decides about. */
function callKey({ agent, subject }: MissingPermission, { name }: GuardedOperation, input: unknown): string {
  return JSON.stringify([agent.name, name, subject.fingerprint(), input ?? {}]);
}

/** Describes an operation to the person. Reading needs permission only in a private session. */
function describeOperation({ access, summary }: GuardedOperation): string {
  const [first = "", ...rest] = summary;
  return access === "observe" ? `Read from a private session: ${first.toLowerCase()}${rest.join("")}.` : `${summary}.`;
}

/** The whole input; bytes that a call types are shown as text. */
function readableInput(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input ?? {};
  const isBytes = "encoding" in input && input.encoding === "base64" && "data" in input;
  return isBytes ? { ...input, data: Buffer.from(String(input.data), "base64").toString() } : input;
}

function inputTooLongError(
  session: string,
  agent: Owner,
  operation: string,
  length: number,
  maxLength: number,
): WshError {
  const why = `its input is too long to be shown to a person: ${length} characters, at most ${maxLength}`;
  return new WshError("access_denied", `${agent.name} may not ${operation} in '${session}': ${why}`, {
    hint: "Use a session of your own, or send less at a time.",
  });
}

function subjectChangedError(session: string, operation: string): WshError {
  const message = `what '${operation}' would affect in '${session}' has changed while the person was asked`;
  return new WshError("access_denied", message, { hint: "Check it, then try again." });
}

function refusedAgainError(session: string, agent: Owner, operation: string, reason: string): WshError {
  return new WshError("access_denied", `${agent.name} may not ${operation} in '${session}': ${reason}`, {
    hint: "Use a session of your own. Do not try another way.",
  });
}

function refusalError(
  session: string,
  agent: Owner,
  operation: string,
  otherOwner: Owner | null,
  isNobodyAttached: boolean,
): WshError {
  const whose = otherOwner === null ? "" : `; it belongs to ${ownerText(otherOwner)}`;
  const why = isNobodyAttached ? "and nobody is attached who could allow it" : "and the person has not allowed it";
  return new WshError("access_denied", `${agent.name} may not ${operation} in '${session}'${whose}, ${why}`, {
    hint: isNobodyAttached
      ? `Use a session of your own, or ask a person to attach, or to run: wsh agents --allow '${agent.name}'`
      : "Use a session of your own. Do not try another way.",
  });
}
