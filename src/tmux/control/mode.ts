/**
 * A client in control mode (`-C`, `-CC`): it sends lines of commands, and receives the answer to each command between
 * `%begin` and `%end` or `%error`, and notifications of changes in the sessions.
 *
 * Invariant: lines run one after another; an answer contains only its command's output; the changes of a line are
 * notified before the next line is read.
 */
import type { Backend, ControlClient, Subscription } from "../backend.ts";
import { commandsIn } from "../commands/shell.ts";
import { commandTable } from "../commands/table.ts";
import type { InstanceBackend } from "../instance/backend.ts";
import { Model, placeOf } from "../model.ts";
import { splitWords } from "../parse/commands.ts";
import { messageOf, Run } from "../run.ts";
import { emptyState } from "../state.ts";
import { type ModelState, notificationsOf } from "./changes.ts";
import { ClientFlags } from "./flags.ts";
import { PaneOutputs } from "./output.ts";
import { Subscriptions } from "./subscriptions.ts";
import { SessionsWatch } from "./watch.ts";

/** Longest line of a client, in characters. */
const MOST_LINE = 1024 * 1024;
/**
 * Maximum characters of queued lines. The next line runs only after the client has read all but this many
 * bytes of answers.
 */
const MOST_WAITING = 64 * MOST_LINE;
const MOST_UNREAD = 1024 * 1024;
/** Commands that change nothing. */
const LOOKING = /^(list-|show-|display-|has-|capture-|save-|send-|wait-)/;

interface ControlPort {
  /** `-CC`: the client runs inside a terminal that supports control mode. */
  readonly isDouble: boolean;
  write(text: string | Uint8Array): void;
  /** Bytes that the client has not read. */
  readonly pending: number;
  /** Whether the client waits for an empty line after the exit notification. */
  waitsForExit?(isWaiting: boolean): void;
}

interface ControlEnd {
  readonly status: number;
  /** The reason of an end that the client did not ask for; null otherwise. */
  readonly message: string | null;
}

export class ControlMode implements ControlClient {
  readonly name: string;
  session: string | null = null;
  private readonly backend: Backend;
  private readonly settings = new ClientFlags();
  private readonly outputs: PaneOutputs;
  private readonly subscriptions: Subscriptions;
  private readonly watch: SessionsWatch;
  private readonly decoder = new TextDecoder();
  private text = "";
  private readonly lines: string[] = [];
  /** Characters in the queued lines. */
  private waitingLength = 0;
  private isAtEnd = false;
  private isWorking = true;
  /** Whether the sessions may have changed while a line ran. */
  private isStale = false;
  /** The answer being written. */
  private block: { readonly time: number; readonly number: number; readonly flag: number } | null = null;
  private number = 0;
  private flag = 0;
  private heldLines: string[] = [];
  private lastModel: ModelState = {
    model: new Model({ infos: [], isComplete: false }, emptyState()),
    shownSession: null,
    layouts: new Map(),
  };
  private lastRefresh: Promise<void> = Promise.resolve();
  private readonly ended = Promise.withResolvers<ControlEnd>();
  private isOver = false;
  /** The client's entry in the list of clients, as last reported. */
  private listedEntry = "null";

  constructor(
    instance: InstanceBackend,
    private readonly port: ControlPort,
  ) {
    this.name = `client-${instance.caller}`;
    this.backend = {
      ...instance,
      control: this,
      hasTerminal: true,
      // The end of an answer is on a line of its own.
      print: async (text) => this.port.write(text === "" || text.endsWith("\n") ? text : `${text}\n`),
      complain: async (message) => this.port.write(`${message}\n`),
      attach: async ({ id }) => {
        await this.show(id);
        return 0;
      },
    };
    const { sessionsOf } = instance;
    const mode = this;
    this.outputs = new PaneOutputs({
      write: (bytes) => port.write(bytes),
      line: (text) => this.port.write(`${text}\n`),
      open: (pane, snapshot, events) => sessionsOf.stream("peer.raw", { snapshot, read_only: true }, pane, events),
      get pending() {
        return port.pending;
      },
      get isFree() {
        return mode.block === null;
      },
    });
    this.subscriptions = new Subscriptions(
      (subscription) => this.formatAll(subscription),
      (line) => this.notify(line),
    );
    this.watch = new SessionsWatch(sessionsOf, () => this.changed());
  }

  get flags(): string {
    return this.settings.text;
  }

  /** Runs the first command, then the client's lines, to the end. */
  async run(words: readonly string[]): Promise<ControlEnd> {
    if (this.port.isDouble) this.port.write("\x1bP1000p");
    this.lastModel = await this.readModel();
    const run = new Run(this.backend, commandTable, this.guard);
    await run.commands(splitWords(words.length === 0 ? ["new-session"] : words));
    if (this.session === null) this.end({ status: run.status, message: null });
    this.flag = 1;
    await this.refresh();
    this.isWorking = false;
    void this.work();
    return this.ended.promise;
  }

  receive(bytes: Uint8Array): void {
    const lines = (this.text + this.decoder.decode(bytes, { stream: true })).split(
      this.port.isDouble ? /\r\n|\r|\n/ : "\n",
    );
    this.text = lines.pop() ?? "";
    for (const line of lines) {
      this.lines.push(line);
      this.waitingLength += line.length + 1;
    }
    if (this.text.length > MOST_LINE || this.waitingLength > MOST_WAITING)
      this.end({ status: 1, message: "the line is too long" });
    void this.work();
  }

  /** The client has read what was written. */
  drained(): void {
    this.outputs.pump();
    void this.work();
  }

  /** No more lines will come. */
  close(): void {
    this.isAtEnd = true;
    void this.work();
  }

  async show(session: string): Promise<void> {
    this.session = session;
  }

  leave(): void {
    this.end({ status: 0, message: null });
  }

  setFlags(names: string): void {
    this.settings.set(names);
    this.outputs.pauseAfterMs = this.settings.pauseAfterMs;
    this.outputs.isOff = this.settings.isSilent;
    this.port.waitsForExit?.(this.settings.waitsForExit);
  }

  setPane(pane: string, to: string): void {
    this.outputs.set(pane, to);
  }

  subscribe(name: string, subscription: Subscription | null): void {
    this.subscriptions.set(name, subscription);
  }

  private readonly guard = {
    begin: (): void => {
      // A command that runs others answers before they run.
      this.guard.end(true);
      this.block = { time: Math.floor(Date.now() / 1000), number: ++this.number, flag: this.flag };
      this.port.write(`%begin ${this.block.time} ${this.block.number} ${this.block.flag}\n`);
    },
    end: (isGood: boolean): void => {
      const { block } = this;
      if (block === null) return;
      this.port.write(`%${isGood ? "end" : "error"} ${block.time} ${block.number} ${block.flag}\n`);
      this.block = null;
      for (const line of this.heldLines.splice(0)) this.notify(line);
      this.outputs.pump();
    },
  };

  notify(line: string): void {
    if (this.isOver) return;
    if (this.block === null) this.port.write(`${line}\n`);
    else this.heldLines.push(line);
  }

  /** Runs the queued lines. */
  private async work(): Promise<void> {
    if (this.isWorking) return;
    this.isWorking = true;
    while (!this.isOver && this.port.pending < MOST_UNREAD) {
      const line = this.lines.shift();
      if (line === undefined) break;
      this.waitingLength -= line.length + 1;
      // An empty line detaches.
      if (line === "") this.leave();
      else await this.runLine(line).catch((thrown) => this.end({ status: 1, message: messageOf(thrown) }));
    }
    this.isWorking = false;
    if (this.isAtEnd && this.lines.length === 0) this.leave();
    else if (this.isStale) void this.refresh();
  }

  private async runLine(text: string): Promise<void> {
    await this.lastRefresh;
    const run = new Run(this.backend, commandTable, this.guard);
    let all: readonly (readonly string[])[];
    try {
      all = (await commandsIn(run, text, (await run.targets()).current ?? {}, async () => {})).map(
        ({ words }) => words,
      );
    } catch (thrown) {
      this.guard.begin();
      this.port.write(`parse error: ${messageOf(thrown).replace(/^\d+: /, "")}\n`);
      this.guard.end(false);
      return;
    }
    await run.commands(all);
    const isOnlyLooking = all.every(([name = ""]) => {
      const command = commandTable.find((each) => each.name === name || each.alias === name);
      return LOOKING.test(command?.name ?? name);
    });
    if (!isOnlyLooking || this.isStale) await this.refresh();
  }

  /** Changes by a line are searched for after the line. */
  private changed(): void {
    if (this.isWorking) this.isStale = true;
    else void this.refresh();
  }

  /** Reads the sessions, and notifies the client of changes. */
  private refresh(): Promise<void> {
    const next = async (): Promise<void> => {
      if (this.isOver) return;
      this.isStale = false;
      await this.updateListed(this.session);
      const now = await this.readModel();
      if (this.isOver) return;
      const before = new Set(this.lastModel.model.places.map(({ pane }) => pane.target));
      for (const line of notificationsOf(this.lastModel, now)) this.notify(line);
      this.lastModel = now;
      this.watch.setTargets(now.model.sessions.map(({ target }) => target));
      const shown = now.model.sessions.find(({ target }) => target === now.shownSession);
      if (shown === undefined) return this.session === null ? undefined : this.leave();
      const panes = shown.windows.flatMap((window) => window.panes);
      this.outputs.setPanes(panes, (target) => before.has(target));
    };
    this.lastRefresh = this.lastRefresh
      .then(next)
      .catch((thrown) => this.end({ status: 1, message: messageOf(thrown) }));
    return this.lastRefresh;
  }

  private async readModel(): Promise<ModelState> {
    const run = new Run(this.backend, commandTable);
    const { model } = await run.load();
    const session = model.sessions.find(({ target }) => target === this.session);
    const windows = session?.windows ?? [];
    const of = async (template: string): Promise<string[]> =>
      session === undefined
        ? []
        : run.formats(
            template,
            windows.map((window) => ({ around: placeOf(session, window) })),
          );
    const [layouts, flags] = [await of("#{window_layout} #{window_visible_layout}"), await of("#{window_raw_flags}")];
    return {
      model,
      shownSession: this.session,
      layouts: new Map(windows.map(({ id }, i) => [id, { layout: layouts[i] ?? "", flags: flags[i] ?? "" }])),
    };
  }

  /** Evaluates a subscription's format for each of its places, with the identifiers of the place. */
  private async formatAll({
    watched,
    format,
  }: Subscription): Promise<readonly { readonly object: string; readonly value: string }[]> {
    const run = new Run(this.backend, commandTable);
    const { model } = await run.load();
    const session = model.sessions.find(({ target }) => target === this.session);
    if (session === undefined) return [];
    const isPanes = watched.startsWith("%");
    if (!isPanes && !watched.startsWith("@"))
      return [{ object: `${session.id} - - -`, value: await run.format(format, placeOf(session)) }];
    const places = session.windows
      .flatMap((window) =>
        isPanes ? window.panes.map((pane) => placeOf(session, window, pane)) : [placeOf(session, window)],
      )
      .filter(({ window, pane }) => watched.endsWith("*") || watched === (isPanes ? pane.id : window.id));
    const values = await run.formats(
      format,
      places.map((around) => ({ around })),
    );
    return places.map(({ window, pane }, i) => ({
      object: `${session.id} ${window.id} ${window.index} ${isPanes ? pane.id : "-"}`,
      value: values[i] ?? "",
    }));
  }

  /** Reports this client, or its end, to the list of clients. */
  private async updateListed(session: string | null): Promise<void> {
    const { name, flags } = this;
    const entry = `${session} ${flags}`;
    const [before] = this.listedEntry.split(" ");
    if (entry === this.listedEntry) return;
    this.listedEntry = entry;
    await this.backend.changeState((state) => {
      if (session === null) delete state.clients[name];
      else state.clients[name] = { pid: this.backend.caller, session, flags };
    });
    if (before === String(session)) return;
    const run = new Run(this.backend, commandTable);
    if (before === "null") await run.runHook("client-attached");
    await run.runHook(session === null ? "client-detached" : "client-session-changed");
  }

  private end(end: ControlEnd): void {
    if (this.isOver) return;
    this.guard.end(end.status === 0);
    this.outputs.pump();
    this.isOver = true;
    this.outputs.close();
    this.subscriptions.close();
    this.watch.close();
    const resolve = (): void => this.ended.resolve(end);
    void this.updateListed(null).then(resolve, resolve);
  }
}
