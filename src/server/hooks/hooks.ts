/**
 * Runs hooks: reads the journal of events, and begins the hooks and notices of the settings, or of a session's
 * creator, for each. This is the server's task because an instance has only one, it serves no terminal, and its
 * end harms no session. A session process starts a missing server when a hook wants an event.
 *
 * Invariant: a run is due once the cursor on disk has passed a matching event, and begins once (hook-files.ts).
 * Limits: concurrent programs, runs per minute and waiting jobs, for each hook and in total, and the age of
 * events. A hook that hangs or is flooded with events never prevents another hook's first program.
 */
import type { HookFiles, HookJob } from "../../events/hook-files.ts";
import { EventReader, type JournalEvent, watchEvents } from "../../events/reader.ts";
import type { Instance } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import { endMarked, HOOK_MARK } from "../../platform/marked-processes.ts";
import { platform } from "../../platform/platform.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type EventConsumer, isNotify, isWanted } from "../../protocol/event-consumers.ts";
import { hookVariables, type OwnedHook } from "../../protocol/hooks.ts";
import { bareNotice, type Notice, type Notify, noticeFor } from "../../protocol/notices.ts";
import type { RecordedEvent } from "../../protocol/recorded-events.ts";
import { runHookProgram, TAKEN } from "./program.ts";

/** Events read at a time, and time during which further ones are collected, in ms. */
const EVENTS = 500;
const GATHER_MS = 10;
/** Age beyond which an event's hooks no longer run, in ms: no server ran at the time, and nobody waits for them now. */
const MAX_AGE_MS = 600_000;
/** Maximum concurrent programs of all hooks, and waiting jobs; a hook without any may exceed them. */
const MAX_PROGRAMS = 16;
const MAX_WAITING = 1_000;
/** Maximum waiting jobs of one hook. */
const MAX_WAITING_EACH = 250;
/** Maximum concurrent notices of one channel. */
const NOTICES_AT_ONCE = 4;
const MINUTE_MS = 60_000;
/** Interval between checks of programs that an earlier server began, in ms. */
const CHECK_MS = 1_000;
/** Time limit of a `do` line, and of running programs at the server's end, in ms. */
const OPERATION_MS = 30_000;
const LAST_MS = 2_000;

interface HooksPort {
  readonly instance: Instance;
  readonly events: string;
  readonly files: HookFiles;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** Current hooks and notices of the settings. */
  consumers(): readonly EventConsumer[];
  /** Whether notices contain details. */
  isOpen(): boolean;
  /** Sends a notice. @throws when it was not delivered */
  notify(notify: Notify, notice: Notice, event: RecordedEvent): Promise<void>;
  /** Runs the line of a `do`. @throws WshError of the operation */
  operate(line: string, event: RecordedEvent, agent: string | undefined, signal: AbortSignal): Promise<unknown>;
  /** Called when no job is waiting or running. */
  onIdle(): void;
}

interface Rate {
  /** Times of the hook's last runs, in ms. */
  runTimes: number[];
  runningCount: number;
  waitingCount: number;
  /** Time of the last log line about omitted runs, in ms. */
  reportedAt: number;
}

/** A hook, with the AI agent for which it runs. */
type EventConsumerOfAgent = EventConsumer & Pick<OwnedHook, "agent">;

export class Hooks {
  private readonly waitingJobs: { readonly name: string; readonly job: HookJob }[] = [];
  private readonly rates = new Map<string, Rate>();
  private runningCount = 0;
  private watch: Disposable | null = null;
  private timer: Timer | null = null;
  private reader: EventReader | null = null;
  private isOver = false;

  constructor(private readonly port: HooksPort) {}

  /** Number of waiting and running jobs: the server does not end on its own meanwhile. */
  get pending(): number {
    return this.waitingJobs.length + this.runningCount + (this.timer === null ? 0 : 1);
  }

  start(): void {
    const { files, events } = this.port;
    const { due, begun } = files.list();
    for (const { job, pid } of begun) this.adopt(job, pid);
    for (const name of due) {
      const job = files.read(name);
      if (job === null) files.remove(name);
      else this.add(name, job);
    }
    this.reader = new EventReader(events, validCursor(files.cursor));
    this.watch = watchEvents(events, () => this.scheduleRead());
    this.readJournal();
  }

  /**
   * If the cursor cannot be written (the disk is full or read-only), the next server starts reading from its own
   * beginning.
   */
  private keepCursor(cursor: string): void {
    try {
      this.port.files.cursor = cursor;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.port.logger.warn("the cursor of the hooks cannot be saved", { error });
    }
  }

  /** Reads a last time; jobs that are due and have not begun wait for the next server. */
  async stop(): Promise<void> {
    this.readJournal();
    this.isOver = true;
    this.watch?.[Symbol.dispose]();
    clearTimeout(this.timer ?? undefined);
    const deadline = performance.now() + LAST_MS;
    while (this.runningCount > 0 && performance.now() < deadline) await Bun.sleep(GATHER_MS);
  }

  private scheduleRead(): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.readJournal();
      this.notifyIfIdle();
    }, GATHER_MS);
  }

  private readJournal(): void {
    if (this.isOver || this.reader === null) return;
    const { reader } = this;
    const before = reader.cursor;
    const { events, more } = reader.read(EVENTS);
    for (const { event, cursor } of events)
      for (const [at, wanted] of this.wantedFor(event).entries()) this.prepare(`${cursor}.${at}`, wanted, event);
    if (reader.cursor !== before || this.port.files.cursor === null) this.keepCursor(reader.cursor);
    // The journal may have been created since: events recorded before it is watched are read then.
    if (events.length > 0) this.watchAgain();
    if (more || events.length > 0) this.scheduleRead();
    this.begin();
  }

  private watchAgain(): void {
    this.watch?.[Symbol.dispose]();
    this.watch = watchEvents(this.port.events, () => this.scheduleRead());
  }

  private wantedFor(event: JournalEvent): EventConsumerOfAgent[] {
    if (Date.now() - event.at > MAX_AGE_MS) return [];
    const all: EventConsumerOfAgent[] = [...this.port.consumers(), ...((event.on ?? []) as readonly OwnedHook[])];
    const triggered = all.filter((each) => isWanted(each, event));
    // A channel sends one notice, even if several tables request it.
    return triggered.filter(
      (each, at) => !isNotify(each) || triggered.findIndex((other) => isSameChannel(other, each)) === at,
    );
  }

  /** Records a pending run, unless its hook has too many: a flood of events must not write files. */
  private prepare(name: string, consumer: EventConsumerOfAgent, event: JournalEvent): void {
    // The run is already recorded, and its event is being read again.
    if (this.waitingJobs.some((each) => each.name === name)) return;
    const { agent, ...wanted } = consumer;
    const { on: _, ...plain } = event;
    const job: HookJob = { event: plain, wanted, key: JSON.stringify(consumer), ...defined({ agent }) };
    const rate = this.rateOf(job.key);
    const isFull = this.waitingJobs.length >= MAX_WAITING && rate.waitingCount > 0;
    if (isFull || rate.waitingCount >= MAX_WAITING_EACH) this.reportSkipped(job, rate, "too many runs are waiting");
    else if (rate.runTimes.length >= wanted.a_minute && rate.runningCount < concurrencyOf(wanted))
      this.reportSkipped(job, rate);
    else {
      try {
        this.port.files.write(name, job);
        this.add(name, job);
      } catch (thrown) {
        this.reportSkipped(job, rate, thrown instanceof Error ? thrown.message : String(thrown));
      }
    }
  }

  private add(name: string, job: HookJob): void {
    this.waitingJobs.push({ name, job });
    this.rateOf(job.key).waitingCount++;
  }

  private begin(): void {
    for (let at = 0; at < this.waitingJobs.length; ) {
      const next = this.waitingJobs[at];
      if (next === undefined) break;
      const { name, job } = next;
      const rate = this.rateOf(job.key);
      const isFull = this.runningCount >= MAX_PROGRAMS && rate.runningCount > 0;
      if (isFull || rate.runningCount >= concurrencyOf(job.wanted)) {
        at++;
        continue;
      }
      this.waitingJobs.splice(at, 1);
      rate.waitingCount--;
      if (rate.runTimes.length < job.wanted.a_minute) {
        void this.run(name, job, rate);
        continue;
      }
      this.port.files.remove(name);
      this.reportSkipped(job, rate);
    }
  }

  private reportSkipped({ key }: HookJob, rate: Rate, why = "it ran too often within a minute"): void {
    const now = performance.now();
    if (now - rate.reportedAt < MINUTE_MS) return;
    rate.reportedAt = now;
    this.port.logger.warn(`a run of a hook was skipped: ${why}`, { hook: key });
  }

  private rateOf(key: string): Rate {
    const windowStart = performance.now() - MINUTE_MS;
    let rate = this.rates.get(key);
    if (rate === undefined) {
      // Drops the rates of ended sessions.
      for (const [other, { runTimes, runningCount, waitingCount }] of this.rates)
        if (runningCount + waitingCount === 0 && (runTimes.at(-1) ?? 0) < windowStart) this.rates.delete(other);
      rate = { runTimes: [], runningCount: 0, waitingCount: 0, reportedAt: Number.NEGATIVE_INFINITY };
      this.rates.set(key, rate);
    }
    rate.runTimes = rate.runTimes.filter((at) => at > windowStart);
    return rate;
  }

  private async run(name: string, job: HookJob, rate: Rate): Promise<void> {
    rate.runTimes.push(performance.now());
    rate.runningCount++;
    this.runningCount++;
    try {
      const other = await this.perform(name, job);
      if (other !== null) this.adopt(name, other);
    } finally {
      rate.runningCount--;
      this.runningCount--;
      if (!this.isOver) this.begin();
      this.notifyIfIdle();
    }
  }

  /** @returns the process that runs it instead, begun by an earlier server */
  private async perform(name: string, { wanted, event, key, agent }: HookJob): Promise<number | null> {
    const { files, logger } = this.port;
    const logFields = { hook: key, session: event.session };
    const acting = defined({ WSH_AGENT: agent });
    if (isNotify(wanted)) return this.notify(name, wanted, event, acting, logFields);
    const hook = wanted;
    if (hook.do !== undefined) {
      if (!files.take(name)) return null;
      await this.port.operate(hook.do, event, agent, AbortSignal.timeout(OPERATION_MS)).catch((thrown: unknown) => {
        logger.warn("a hook's operation failed", { ...logFields, error: WshError.from(thrown).message });
      });
      files.remove(name, process.pid);
      return null;
    }
    const variables = { ...hookVariables(event), ...acting };
    return this.runProgram(name, hook.run ?? [], variables, event, hook.timeout_seconds * 1000, logFields);
  }

  private async notify(
    name: string,
    notify: Notify,
    event: RecordedEvent,
    acting: Readonly<Record<string, string>>,
    logFields: object,
  ): Promise<number | null> {
    const { files, logger } = this.port;
    const fullNotice = noticeFor(notify, event);
    if (fullNotice === null) {
      files.remove(name);
      return null;
    }
    const isOpen = this.port.isOpen();
    const readable = isOpen ? fullNotice : bareNotice(fullNotice);
    // An agent that chose the settings would get the buttons for the person's answers.
    const notice = acting.WSH_AGENT === undefined ? readable : { ...readable, answers: [] };
    if (notify.run !== undefined) {
      const { kind: WSH_NOTICE, title: WSH_NOTICE_TITLE, text: WSH_NOTICE_TEXT } = notice;
      const text = { WSH_NOTICE, WSH_NOTICE_TITLE, WSH_NOTICE_TEXT };
      const variables = { ...text, ...(isOpen ? hookVariables(event) : {}), ...acting };
      if (!isOpen) files.writeInput(name, notice);
      return this.runProgram(name, notify.run, variables, event, MINUTE_MS, logFields);
    }
    if (!files.take(name)) return null;
    await this.port.notify(notify, notice, event).catch((thrown: unknown) => {
      logger.warn("a notice was not delivered", {
        ...logFields,
        error: thrown instanceof Error ? thrown.message : `${thrown}`,
      });
    });
    files.remove(name, process.pid);
    return null;
  }

  private async runProgram(
    name: string,
    argv: readonly string[],
    variables: Readonly<Record<string, string>>,
    event: RecordedEvent,
    timeoutMs: number,
    logFields: object,
  ): Promise<number | null> {
    const { files, logger, instance } = this.port;
    const end = await runHookProgram({
      job: files.path(name),
      argv,
      cwd: event.cwd ?? null,
      timeoutMs,
      marks: this.marksOf(name),
      env: { ...environment(), ...variables, WSH_SOCKET: instance.httpSocket, [HOOK_MARK]: name },
    });
    const { exit_code, signal, output, timedOut, error } = end;
    const taken = exit_code === TAKEN ? files.list().begun.find(({ job }) => job === name) : undefined;
    if (taken !== undefined && taken.pid !== end.pid) return taken.pid;
    files.remove(name, end.pid);
    const words = output === "" ? {} : { output };
    if (exit_code === 0) logger.info("a hook ran", { ...logFields, ...words });
    else if (timedOut) logger.warn("a hook was killed at its time limit", { ...logFields, ...words });
    else
      logger.warn("a hook failed", { ...logFields, exit_code, signal, ...(error === undefined ? words : { error }) });
    return null;
  }

  /** A program that an earlier server began counts as running, and this server kills it at its time limit. */
  private adopt(name: string, pid: number): void {
    const { files } = this.port;
    const marks = this.marksOf(name);
    const isOurs = (): boolean => {
      const env = platform().listeners?.environment(pid) ?? [];
      return marks.every((mark) => env.includes(mark));
    };
    const begun = files.begun(name, pid);
    if (begun === null || !isOurs()) {
      files.remove(name, pid);
      return;
    }
    const { wanted: consumer, key } = begun.job;
    const rate = this.rateOf(key);
    rate.runningCount++;
    this.runningCount++;
    const deadline = begun.begunAt + (isNotify(consumer) ? MINUTE_MS : consumer.timeout_seconds * 1000);
    const checkProgram = (): void => {
      if (isOurs() && Date.now() < deadline) return;
      clearInterval(timer);
      if (isOurs()) endMarked(pid, marks, "SIGKILL");
      files.remove(name, pid);
      rate.runningCount--;
      this.runningCount--;
      this.begin();
      this.notifyIfIdle();
    };
    const timer = setInterval(checkProgram, CHECK_MS);
    timer.unref();
  }

  private marksOf(name: string): string[] {
    return [`${HOOK_MARK}=${name}`, `WSH_SOCKET=${this.port.instance.httpSocket}`];
  }

  private notifyIfIdle(): void {
    if (this.pending === 0) this.port.onIdle();
  }
}

/** Maximum concurrent programs of one hook or channel. */
function concurrencyOf(wanted: EventConsumer): number {
  return isNotify(wanted) ? NOTICES_AT_ONCE : wanted.at_once;
}

function isSameChannel(one: EventConsumer, other: Notify): boolean {
  if (!isNotify(one) || one.way !== other.way || one.url !== other.url) return false;
  return JSON.stringify(one.run) === JSON.stringify(other.run);
}

/** An invalid cursor counts as a missing one. */
function validCursor(cursor: string | null): string {
  return cursor !== null && /^\d+-\d+$/.test(cursor) ? cursor : "now";
}

/** The server's environment, without the variables that name the pane or the user of its start. */
function environment(): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(WSH_(PANE|SESSION|TOKEN|SOCKET|AGENT|GRANT)|TMUX)/.test(entry[0]),
  );
  return Object.fromEntries(inherited);
}
