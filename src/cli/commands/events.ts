/**
 * `wsh events`: prints events, one JSON object a line. It reads this machine's events from the journal
 * itself, so it needs no server and misses nothing when one dies. It polls the servers of other machines from
 * the cursor of the last event.
 */
import type { Command } from "commander";
import { eventsDir } from "../../events/segments.ts";
import { readEvents } from "../../events/selection.ts";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { visibleJson } from "../../protocol/harmless-text.ts";
import { type Hook, hookMatches } from "../../protocol/hooks.ts";
import { parsePlace } from "../../protocol/names.ts";
import {
  isRecordedEventName,
  type RecordedEvent,
  type RecordedEventName,
  recordedEventNames,
} from "../../protocol/recorded-events.ts";
import { knownSessions } from "../../registry/known-sessions.ts";
import type { WantedInFile } from "../../settings/hooks.ts";
import { collect, UsageError, wholeNumber } from "../arguments.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, print } from "../print.ts";
import { localConcealment } from "../session/concealed.ts";

/** Longest single wait for events, in ms: shorter than proxies allow. */
const WAIT_MS = 25_000;
/** Maximum events in one answer. */
const LIMIT = 1_000;
/** Errors of another machine's session that a retry does not change. */
const finalCodes: ReadonlySet<string> = new Set(["invalid_request", "session_not_found", "machine_not_found"]);
/** Time before a machine that did not answer is asked again, in ms. */
const AGAIN_MS = 1_000;

interface EventsOptions {
  readonly type?: readonly string[];
  readonly tag?: readonly string[];
  readonly since: string;
  readonly follow: boolean;
  readonly count?: number;
  readonly allMachines?: boolean;
  readonly try?: boolean;
}

export function register(program: Command): void {
  program
    .command("events")
    .argument("[names...]", "sessions, by name or id, also of other machines (box/dev); default: all of this machine")
    .description(
      "Print session events, one JSON object per line, until interrupted.\n\n" +
        "Each event has a cursor; --since CURSOR continues after it, even if processes were killed meanwhile.\n" +
        `Events: ${recordedEventNames.join(", ")}.`,
    )
    .option("--type <event>", "only these events (repeatable, or separated by commas)", collect)
    .option("--tag <tag>", "only sessions with one of these tags (repeatable)", collect)
    .option("--since <cursor>", "begin after this event; start: at the oldest kept event", "now")
    .option("--no-follow", "print the recorded events and exit")
    .option("--count <n>", "exit after N events", wholeNumber(1))
    .option("--try", "print what [[on]] tables would run for each event, and run nothing")
    .option("--all-machines", "also those of other machines (wsh servers)")
    .action(async (names: readonly string[], options: EventsOptions, command: Command) => {
      const instance = instanceOf(command);
      const printer = new Printer(options.count, options.try === true ? await hooksOf(instance) : null);
      const sources = await sourcesOf(instance, names, options);
      const follows = sources.map((source) => followSource(source, options, printer));
      await Promise.race([Promise.all(follows), printer.done]);
      if (printer.hasFailed) process.exitCode = 1;
      // Other machines may still have a request open.
      if (sources.length > 1) process.exit();
    });
}

/** The sessions of one machine; null: this one. */
interface EventSource {
  readonly machine: string | null;
  readonly session: readonly string[];
  read(options: Parameters<typeof readEvents>[1]): ReturnType<typeof readEvents>;
}

async function sourcesOf(instance: Instance, names: readonly string[], options: EventsOptions): Promise<EventSource[]> {
  const places = Map.groupBy(names.map(parsePlace), ({ machine }) => machine);
  const targetsByMachine = new Map([...places].map(([machine, found]) => [machine, found.map(({ target }) => target)]));
  if (names.length === 0) targetsByMachine.set(null, []);
  if (options.allMachines === true) {
    const { machinesOf } = await import("../session/machines.ts");
    for (const { name } of (await machinesOf(instance)).addedMachines)
      if (!targetsByMachine.has(name)) targetsByMachine.set(name, []);
  }
  if (targetsByMachine.size > 1 && !/^(now|start)$/.test(options.since))
    throw new UsageError("--since CURSOR belongs to one machine", "Follow each machine with a separate command.");
  const { signal } = new AbortController();
  const localTargets = targetsByMachine.get(null);
  if (localTargets !== undefined) targetsByMachine.set(null, knownSessions(instance, localTargets));
  return [...targetsByMachine].map(([machine, session]) => ({
    machine,
    session,
    read: (given) => (machine === null ? readLocal(instance, given, signal) : readRemote(instance, machine, given)),
  }));
}

async function readLocal(
  instance: Instance,
  given: Parameters<typeof readEvents>[1],
  signal: AbortSignal,
): ReturnType<typeof readEvents> {
  return readEvents(eventsDir(instance), { ...given, concealment: await localConcealment(instance) }, signal);
}

async function readRemote(
  instance: Instance,
  machine: string,
  { only: _, ...given }: Parameters<typeof readEvents>[1],
): ReturnType<typeof readEvents> {
  const [{ linkOf }, { addressedAnswer }, { cliCaller }] = await Promise.all([
    import("../session/machines.ts"),
    import("../../cluster/checked-answer.ts"),
    import("../session/client.ts"),
  ]);
  const link = await linkOf(instance, machine);
  const input = { ...given, type: [...given.type], session: [...given.session], tag: [...given.tag] };
  const page = await link.call("events.read", input, { caller: cliCaller });
  return addressedAnswer(machine, "events.read", page) as Awaited<ReturnType<typeof readEvents>>;
}

async function followSource(source: EventSource, options: EventsOptions, printer: Printer): Promise<void> {
  const given = { type: typesOf(options.type ?? []), session: source.session, tag: options.tag ?? [], limit: LIMIT };
  let { since } = options;
  for (let hasComplained = false; ; ) {
    try {
      const page = await source.read({ ...given, since, wait_ms: options.follow ? WAIT_MS : 0 });
      if (page.missed === true) printer.missed(source.machine);
      since = page.cursor;
      hasComplained = false;
      if (await printer.print(page.events)) return;
      if (!options.follow && page.events.length === 0) return;
    } catch (thrown) {
      const error = WshError.from(thrown);
      const isFinal = finalCodes.has(error.code);
      if (source.machine === null || isFinal || !options.follow) throw thrown;
      if (!hasComplained) complain(`machine '${source.machine}' will be asked again: ${error.message}`);
      hasComplained = true;
      await Bun.sleep(AGAIN_MS);
    }
  }
}

class Printer {
  hasFailed = false;
  private readonly ended = Promise.withResolvers<void>();
  private remaining: number;

  /** @param hooks if set, prints only the events that trigger one of them, with the hook's command */
  constructor(
    count: number | undefined,
    private readonly hooks: readonly WantedInFile<Hook>[] | null,
  ) {
    this.remaining = count ?? Number.POSITIVE_INFINITY;
  }

  get done(): Promise<void> {
    return this.ended.promise;
  }

  /** @returns whether the limit of events is reached */
  async print(events: readonly RecordedEvent[]): Promise<boolean> {
    const now = events.flatMap((event) => this.tryHooks(event) ?? []).slice(0, this.remaining);
    this.remaining -= now.length;
    await print(now.map((event) => `${visibleJson(event, 0)}\n`).join(""));
    if (this.remaining > 0) return false;
    this.ended.resolve();
    return true;
  }

  private tryHooks(event: RecordedEvent): object | null {
    if (this.hooks === null) return event;
    const triggered = this.hooks.filter(({ wanted }) => hookMatches(wanted, event));
    if (triggered.length === 0) return null;
    return {
      ...event,
      would: triggered.map(({ line, wanted: { run, do: operation } }) => ({ line, run, do: operation })),
    };
  }

  missed(machine: string | null): void {
    complain(`${machine === null ? "" : `machine '${machine}': `}some events after the cursor are no longer kept`);
    this.hasFailed = true;
  }
}

async function hooksOf(instance: Instance): Promise<readonly WantedInFile<Hook>[]> {
  return (await settingsOf(instance, {}, null)).hooks;
}

function typesOf(given: readonly string[]): RecordedEventName[] {
  return given
    .flatMap((each) => each.split(","))
    .map((name) => {
      if (isRecordedEventName(name)) return name;
      throw new UsageError(`--type: no event '${name}'`, `Events: ${recordedEventNames.join(", ")}.`);
    });
}
