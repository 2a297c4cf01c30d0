/**
 * A person's terminal at a session: bytes of the host go to the terminal, keys to the host, until one of them ends it.
 * Neither side is buffered without bound: a terminal that does not take its bytes stops the reading from the host, which
 * then repaints; a host that does not take its input stops the reading of keys. Whatever happens, the terminal is put
 * back as it was and the person is told how it ended.
 *
 * A host that could open the terminal itself carries keys and the program's bytes without us, so that an echo crosses no
 * process of ours. Keys are left to it once the answers to our own questions are here; that all it sent was written is
 * told each time, since only then may it write itself. What remains here is painting, the size, and the way back.
 *
 * A person can stop us (`kill -TSTP`, `suspend` of a shell around us): the terminal is put back and the host lets go of
 * it first, so that the shell then has it alone; in the foreground again, everything is painted anew. SIGSTOP gives
 * no time for that: then the host notices (host/attach/signalled-input.ts), and only the rest is done.
 */
import * as v from "valibot";
import type { Prefix } from "../keys/prefix.ts";
import { KeyReader } from "../keys/reader.ts";
import { type Attach, AttachEventSchema, type PersonDevice, type ScrollbackChoice } from "../protocol/attach.ts";
import { StreamEndSchema } from "../protocol/control.ts";
import { type Message, messageJson, messageTypes } from "../protocol/messages.ts";
import { Connection } from "../wire/connection.ts";
import { type Answers, Probe } from "./color-probe.ts";
import { endSignals, type Outcome, outcomeOf } from "./outcome.ts";
import { outerName } from "./outer-name.ts";
import { OuterTerminal } from "./outer-terminal.ts";
import { type ColorSetting, capsFor, takesControlStrings } from "./paint/modes.ts";
import { SessionView } from "./view.ts";

/** Bytes that wait for the terminal before the host is no longer read. */
const OUTPUT_LIMIT = 256 * 1024;
/** Bytes that wait for the host before the keyboard is no longer read. */
const INPUT_LIMIT = 1024 * 1024;
/** How long a host may take to say goodbye, in ms: more than a busy one needs, less than a person notices. */
const GOODBYE_MS = 300;
/** Interval between checks whether a queue has emptied, in ms. */
const INPUT_POLL_MS = 5;
/** How soon a stop has happened, in ms; one that has not by then is not to be: nobody could continue us. */
const STOP_MS = 20;

export interface AttachOptions {
  /** Of the session's host. */
  readonly socket: string;
  /** Of the session that this process runs in; null outside. */
  readonly around: string | null;
  readonly scrollback: ScrollbackChoice;
  readonly altScreen: boolean;
  /** Titles of programs reach the terminal. */
  readonly titles: boolean;
  readonly readOnly: boolean;
  readonly prefix: Prefix | null;
  readonly colors: ColorSetting;
  /** The end of standard input detaches; with a command whose end is waited for it does not. */
  readonly detachAtEof: boolean;
  /** Called once, when the first bytes were shown. */
  readonly shown?: () => void;
}

export interface AttachResult {
  readonly outcome: Outcome;
  /** What the session is called at the end; null when the host did not say. */
  readonly name: string | null;
  /** False when the terminal stands still: who writes to it waits for it. */
  readonly terminalTakes: boolean;
}

/**
 * Attaches and stays attached until it ends.
 * @throws WshError when the host refuses: session_not_found, host_unavailable, host_version, resource_limit_reached
 */
export async function attach(options: AttachOptions): Promise<AttachResult> {
  // The host is there before the terminal is touched: a refusal is an error message like any other.
  const { connection } = await Connection.open(options.socket, "attach");
  const client = new Client(connection, options);
  let terminalTakes = false;
  let ended: Ended;
  try {
    ended = await client.run();
  } finally {
    terminalTakes = await client.end();
  }
  return { ...ended, terminalTakes };
}

function outerField(device: PersonDevice | null): { readonly outer?: string } {
  const outer = device === null ? null : outerName(device);
  return outer === null ? {} : { outer };
}

type Ended = Pick<AttachResult, "outcome" | "name">;

class Client {
  private readonly terminal: OuterTerminal;
  private readonly view: SessionView;
  private readonly keys: KeyReader;
  private readonly over = Promise.withResolvers<Ended>();
  private readonly context = {
    caller: { kind: "cli", id: `attach:${process.pid}`, connected: true },
    access: "admin",
  } as const;
  private readonly probe = new Probe((answers) => this.learned(answers));
  private shown = false;
  /** The host has opened the terminal. */
  private opened = false;
  /** Bytes of the program's since the host last began to relay. */
  private relayed = 0;
  /** Pictures that the host has sent. */
  private pictures = 0;
  /** The host was told to read the keys. */
  private keysLeft = false;
  /** The process is about to be stopped, or is. */
  private away = false;
  /** How the person left, while the host is asked to let go. */
  private leaving: Outcome | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly options: AttachOptions,
  ) {
    this.terminal = new OuterTerminal({ altScreen: options.altScreen, titles: options.titles });
    const caps = capsFor(process.env, options.colors);
    this.view = new SessionView(this.terminal, { ...caps, altScreen: options.altScreen });
    this.keys = new KeyReader(options.prefix, {
      forward: (bytes) => this.typed(bytes),
      reply: (bytes) => this.probe.reply(bytes),
      detach: () => this.leave({ kind: "detached" }),
      help: (shown) => this.tell("host.help", { shown }),
      release: () => this.tell("input.release", {}),
    });
  }

  async run(): Promise<Ended> {
    const { connection, terminal, options } = this;
    connection.listen({
      message: (message) => this.receive(message),
      close: () => this.over.resolve({ outcome: this.leaving ?? outcomeOf(null), name: null }),
    });
    terminal.output.onDrain = () => {
      if (this.away) return;
      connection.resume();
      this.view.paintLatest();
      this.written();
    };
    terminal.output.onGone = () => this.leave({ kind: "signalled", signal: "SIGHUP" });
    for (const signal of endSignals) {
      process.on(signal, () => {
        this.leave({ kind: "signalled", signal });
        terminal.signalled();
      });
    }
    process.on("SIGTSTP", this.stop);
    process.on("SIGCONT", () => this.continued());
    const attached = connection.request(
      "host.attach",
      {
        ...terminal.size,
        scrollback: options.scrollback,
        read_only: options.readOnly,
        paint_only: options.altScreen,
        // A program's own bytes may have any colour.
        relay: options.colors === "auto" || options.colors === "truecolor",
        no_color: (process.env.NO_COLOR ?? "") !== "",
        prefix: options.prefix?.label ?? null,
        ...(terminal.device === null ? {} : { terminal: terminal.device }),
        ...outerField(terminal.device),
        ...(options.around === null ? {} : { around: options.around }),
      } satisfies Attach,
      this.context,
    );
    // Refusals count; a connection that is lost is said by its end.
    attached.catch((error) => {
      if (!connection.isClosed) this.over.reject(error);
    });
    terminal.watchSize(() => connection.send(messageTypes.resize, terminal.size));
    if (terminal.answers) {
      const widths = terminal.size.rows > 1;
      terminal.output.write(this.probe.ask({ depth: takesControlStrings(process.env), widths }));
    }
    void terminal.read({ bytes: (bytes) => this.pressed(bytes), ended: () => this.inputEnded() });
    return this.over.promise;
  }

  /** @returns whether the terminal has taken everything */
  async end(): Promise<boolean> {
    this.connection.close();
    this.view.paintLatest();
    await this.probe.settled();
    return await this.terminal.restore();
  }

  private receive(message: Message): void {
    switch (message.type) {
      case messageTypes.output:
        this.view.output(message.payload);
        this.relayed += message.payload.length;
        this.written();
        break;
      case messageTypes.frame:
        this.pictures++;
        if (this.view.frame(message.payload)) this.written();
        break;
      case messageTypes.event:
        this.event(messageJson(message));
        return;
      case messageTypes.end: {
        const end = v.parse(StreamEndSchema, messageJson(message));
        const outcome = end.reason === "detached" ? (this.leaving ?? outcomeOf(end)) : outcomeOf(end);
        this.over.resolve({ outcome, name: end.name ?? null });
        return;
      }
      default:
        return;
    }
    if (this.terminal.output.pending > OUTPUT_LIMIT) this.connection.pause();
    if (!this.shown) {
      this.shown = true;
      this.options.shown?.();
    }
  }

  private event(value: unknown): void {
    const event = v.safeParse(AttachEventSchema, value);
    if (!event.success) return;
    if (event.output.event === "relay") {
      this.view.relayBegins();
      this.relayed = 0;
    } else if (event.output.event === "opened") {
      this.opened = true;
      void this.leaveKeys();
    } else if (event.output.event === "changed") this.terminal.changed(event.output.changes);
    // A read-only terminal has no keyboard to take back.
    else this.keys.captured = event.output.captured && !this.options.readOnly;
  }

  /** Not awaited: what comes of it is seen on the screen. */
  private tell(operation: string, input: unknown): void {
    this.connection.request(operation, input, this.context).catch(() => {});
  }

  private learned({ colors, depth, widths, keyboardFlags = 0 }: Answers): void {
    this.terminal.keyboardFlags = keyboardFlags;
    if (colors !== undefined) this.tell("host.colors", colors);
    const auto = this.options.colors === "auto" && depth !== undefined;
    this.view.learn({ ...(auto ? { colors: depth } : {}), ...(widths === undefined ? {} : { widths }) });
  }

  private readonly stop = (): void => void this.stopHere();

  private async stopHere(): Promise<void> {
    if (this.away || this.leaving !== null) return;
    this.away = true;
    const released = this.connection.request("host.release", {}, this.context).catch(() => {});
    await Promise.race([released, Bun.sleep(GOODBYE_MS)]);
    this.connection.pause();
    await this.probe.settled();
    await this.terminal.giveBack();
    // As it would be without us; a session leader is not stopped, since nobody could continue it.
    process.off("SIGTSTP", this.stop);
    process.kill(process.pid, "SIGTSTP");
    await Bun.sleep(STOP_MS);
    process.on("SIGTSTP", this.stop);
    if (this.away) this.continued();
  }

  /** What the terminal shows now is unknown, and the host does not touch it. */
  private continued(): void {
    const { connection, terminal } = this;
    terminal.takeAgain();
    this.away = false;
    this.view.forget();
    connection.send(messageTypes.resize, terminal.size);
    if (this.keysLeft) this.tell("host.keys", {});
    connection.resume();
  }

  /** The terminal has everything that the host sent. */
  private written(): void {
    const { opened, away, relayed, pictures, terminal } = this;
    if (opened && !away && relayed + pictures > 0 && terminal.output.pending === 0) {
      this.tell("host.written", { bytes: relayed, pictures });
    }
  }

  /** From now on the host reads the keys; what was begun here is finished first. */
  private async leaveKeys(): Promise<void> {
    if (this.terminal.answers) await this.probe.answers();
    while (!this.keys.isAtRest && !this.connection.isClosed) await Bun.sleep(INPUT_POLL_MS);
    if (this.leaving !== null || this.connection.isClosed) return;
    await this.terminal.stopReading();
    this.keysLeft = true;
    // What crosses the connection now is rare, and a person may stay for days.
    this.connection.rest();
    // Not while another process has the terminal; then it is told with the return.
    if (!this.away) this.tell("host.keys", {});
  }

  /** @returns a promise while the host does not take its input */
  private pressed(bytes: Uint8Array): Promise<void> | null {
    this.keys.push(bytes);
    return this.connection.pending > INPUT_LIMIT ? this.untilTaken() : null;
  }

  private async untilTaken(): Promise<void> {
    while (this.connection.pending > INPUT_LIMIT && !this.connection.isClosed) await Bun.sleep(INPUT_POLL_MS);
  }

  private typed(bytes: Uint8Array): void {
    if (!this.options.readOnly && this.leaving === null) this.connection.sendBytes(messageTypes.input, bytes);
  }

  private inputEnded(): void {
    if (this.options.detachAtEof) this.leave({ kind: "detached" });
  }

  /** The host takes from the screen what is drawn over it, and says goodbye; one that hangs is not waited for. */
  private leave(outcome: Outcome): void {
    if (this.leaving !== null) return;
    this.leaving = outcome;
    this.connection.send(messageTypes.end, {});
    setTimeout(() => this.over.resolve({ outcome, name: null }), GOODBYE_MS).unref();
  }
}
