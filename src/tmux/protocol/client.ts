/**
 * One client of tmux's protocol: it identifies itself, then sends a command; the commands' output goes back in frames,
 * and the exit status ends it. The server does not draw on a terminal: the client becomes `wsh attach`. The server does
 * not take the client's descriptors, since the client reads and writes its own standard streams.
 *
 * Invariant: `exit` is the last frame, sent after all output.
 */
import { BY_KEY } from "../../launch/key-variable.ts";
import { selfCommand } from "../../launch/launch.ts";
import { descriptorFile } from "../../platform/own-process.ts";
import { quote } from "../../shell/quoting.ts";
import type { ControlMode } from "../control/mode.ts";
import { TmuxError } from "../error.ts";
import { type ClientSide, type InstanceBackend, MOST_INPUT_BYTES } from "../instance/backend.ts";
import { runTmux } from "../main.ts";
import { DirectOutput } from "./direct-output.ts";
import { encodeFrame, type Frame, FrameDecoder, FrameError, MAX_DATA_BYTES } from "./frames.ts";
import { clientFlags, messages, numberAt, packed, textOf, wordsOf } from "./messages.ts";

/** Maximum bytes of identification that a client sends before its command; its environment is most of them. */
const MOST_IDENTITY_BYTES = 4 * 1024 * 1024;
const [STDIN, STDOUT, STDERR] = [0, 1, 2];
/** Number of the stream that reads standard input: 1 and 2 are the outputs. */
const INPUT_STREAM = 3;

export interface ClientPort {
  write(bytes: Uint8Array): void;
  /** Bytes that the client has not read. */
  readonly pending: number;
  /** The process id reported by the kernel, which takes precedence over the client's own report; null: unknown. */
  readonly peerPid: number | null;
  end(): void;
  /** Called when the client has sent its command, or has been sent the end. */
  became(state: "asked" | "answered"): void;
}

/** A standard output of the client. Data written before the client has opened the stream waits. */
interface Output {
  isOpen: boolean;
  hasFailed: boolean;
  readonly waitingData: Uint8Array[];
}

export class ProtocolClient {
  private readonly decoder = new FrameDecoder();
  private readonly env: Record<string, string> = {};
  private identityBytes = 0;
  private flags = 0;
  private longFlags: Uint8Array = new Uint8Array(8);
  private cwd = "/";
  private tty = "";
  private pid: number;
  private readonly outputs = new Map<number, Output>();
  private flushed: (() => void) | null = null;
  private pendingRead: { parts: Uint8Array[]; bytes: number; done: PromiseWithResolvers<Uint8Array> } | null = null;
  private control: ControlMode | null = null;
  private direct: DirectOutput | null = null;
  private hasRun = false;
  private isOver = false;
  private isAttached = false;
  private readonly clientGone = Promise.withResolvers<never>();

  /** @param backendFor makes the backend of the client's commands */
  constructor(
    private readonly port: ClientPort,
    private readonly backendFor: (client: Omit<ClientSide, "socketPath">) => InstanceBackend,
  ) {
    this.pid = port.peerPid ?? 0;
    this.clientGone.promise.catch(() => {});
  }

  receive(bytes: Uint8Array): void {
    try {
      for (const frame of this.decoder.push(bytes)) this.dispatch(frame);
    } catch (thrown) {
      if (!(thrown instanceof FrameError)) throw thrown;
      if (thrown.isOtherVersion) this.send(messages.version);
      this.port.end();
      this.closed();
    }
  }

  drained(): void {
    this.control?.drained();
  }

  /** The connection has ended. */
  closed(): void {
    if (this.isOver) return;
    this.isOver = true;
    const error = new TmuxError("the client is gone");
    this.pendingRead?.done.reject(error);
    this.clientGone.reject(error);
    this.control?.leave();
    this.direct?.close();
    this.flushed?.();
  }

  private dispatch({ type, data }: Frame): void {
    if (this.isOver) return;
    if (type < messages.command) {
      this.identify(type, data);
      return;
    }
    switch (type) {
      case messages.command:
        if (this.hasRun) return;
        this.hasRun = true;
        this.port.became("asked");
        void this.run(wordsOf(data));
        return;
      case messages.shell:
        this.send(messages.shell, packed([], `${this.env.SHELL ?? "/bin/sh"}\0`));
        return;
      case messages.exiting:
        this.send(messages.exited);
        return;
      case messages.writeReady:
        this.outputOpened(numberAt(data, 0), numberAt(data, 1));
        return;
      case messages.read:
        this.read(data.subarray(4));
        return;
      case messages.readDone:
        if (this.control !== null) this.control.close();
        this.pendingRead?.done.resolve(Buffer.concat(this.pendingRead.parts));
        return;
    }
  }

  /** @throws FrameError for too much identification */
  private identify(type: number, data: Uint8Array): void {
    this.identityBytes += data.length;
    if (this.identityBytes > MOST_IDENTITY_BYTES) throw new FrameError("the environment is too large", false);
    switch (type) {
      case messages.identifyFlags:
        this.flags = numberAt(data, 0);
        return;
      case messages.identifyLongFlags:
        if (data.length === 8) this.longFlags = data;
        return;
      case messages.identifyTty:
        this.tty = textOf(data);
        return;
      case messages.identifyCwd:
        this.cwd = textOf(data);
        return;
      case messages.identifyPid:
        if (this.port.peerPid === null) this.pid = numberAt(data, 0);
        return;
      case messages.identifyEnviron: {
        const [name = "", value] = textOf(data).split(/=(.*)/s);
        if (value !== undefined) this.env[name] = value;
        return;
      }
    }
  }

  private async run(words: readonly string[] | null): Promise<void> {
    const isControl = (this.flags & clientFlags.control) !== 0;
    // A key has started the job that runs the client; programs that it starts are not started by a key.
    const { [BY_KEY]: byKey, ...env } = this.env;
    using backend = this.backendFor({
      env,
      isByKey: byKey !== undefined,
      cwd: this.cwd,
      caller: this.pid,
      pane: paneIn(this.env),
      hasTerminal: isControl || this.hasTerminal,
      print: async (text) => this.print(STDOUT, text),
      complain: async (message) => this.print(STDERR, `${message}\n`),
      input: () => this.input(),
      attach: async (args) => this.becomeAttached(args),
      callerGone: this.clientGone.promise,
    });
    let status = 1;
    try {
      if (words === null) throw new TmuxError("command too long");
      if (isControl) {
        await this.runControl(backend, words);
        return;
      }
      status = await runTmux(backend, words);
    } catch (thrown) {
      this.print(STDERR, `${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    }
    await this.exit(status);
  }

  private async runControl(backend: InstanceBackend, words: readonly string[]): Promise<void> {
    const { ControlMode } = await import("../control/mode.ts");
    if (this.isOver) return;
    const { port } = this;
    const direct = DirectOutput.open(this.pid, () => this.control?.drained());
    this.direct = direct;
    this.control = new ControlMode(backend, {
      isDouble: (this.flags & clientFlags.controlControl) !== 0,
      waitsForExit: (isWaiting) => this.setWaitExit(isWaiting),
      write: (text) =>
        direct === null ? this.print(STDOUT, text) : direct.write(typeof text === "string" ? Buffer.from(text) : text),
      get pending() {
        return (direct ?? port).pending;
      },
    });
    this.send(messages.readOpen, packed([INPUT_STREAM, STDIN], "-\0"));
    const { status, message } = await this.control.run(words);
    await direct?.end();
    await this.exit(status, message);
  }

  private setWaitExit(isWaiting: boolean): void {
    const data = this.longFlags.slice();
    const view = new DataView(data.buffer);
    const flags = view.getBigUint64(0, true);
    view.setBigUint64(0, isWaiting ? flags | clientFlags.waitExit : flags & ~clientFlags.waitExit, true);
    this.send(messages.flags, data);
  }

  /** All output goes first. */
  private async exit(status: number, message: string | null = null): Promise<void> {
    if (this.isAttached || this.isOver) return;
    this.port.became("answered");
    const isWaiting = [...this.outputs.values()].some(({ isOpen, hasFailed }) => !isOpen && !hasFailed);
    if (isWaiting) await new Promise<void>((resolve) => (this.flushed = resolve));
    if (this.isOver) return;
    this.send(messages.exit, packed([status], message === null ? "" : `${message}\0`));
  }

  private print(descriptor: number, text: string | Uint8Array): void {
    if (text.length === 0 || this.isOver) return;
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    let output = this.outputs.get(descriptor);
    if (output === undefined) {
      output = { isOpen: false, hasFailed: false, waitingData: [] };
      this.outputs.set(descriptor, output);
      this.send(messages.writeOpen, packed([descriptor, descriptor, 0], "-\0"));
    }
    if (output.isOpen) this.sendOutput(descriptor, bytes);
    else if (!output.hasFailed) output.waitingData.push(bytes);
  }

  private outputOpened(stream: number, error: number): void {
    const output = this.outputs.get(stream);
    if (output === undefined) return;
    output.isOpen = error === 0;
    output.hasFailed = error !== 0;
    for (const bytes of output.waitingData.splice(0)) if (output.isOpen) this.sendOutput(stream, bytes);
    const isWaiting = [...this.outputs.values()].some(({ isOpen, hasFailed }) => !isOpen && !hasFailed);
    if (!isWaiting) this.flushed?.();
  }

  private sendOutput(stream: number, bytes: Uint8Array): void {
    const most = MAX_DATA_BYTES - 4;
    for (let at = 0; at < bytes.length; at += most)
      this.send(messages.write, packed([stream], bytes.subarray(at, at + most)));
  }

  private input(): Promise<Uint8Array> {
    if (this.pendingRead !== null) return Promise.resolve(new Uint8Array());
    this.pendingRead = { parts: [], bytes: 0, done: Promise.withResolvers<Uint8Array>() };
    this.send(messages.readOpen, packed([INPUT_STREAM, STDIN], "-\0"));
    return this.pendingRead.done.promise;
  }

  private read(bytes: Uint8Array): void {
    if (this.control !== null) {
      this.control.receive(bytes);
      return;
    }
    const { pendingRead } = this;
    if (pendingRead === null) return;
    pendingRead.bytes += bytes.length;
    if (pendingRead.bytes > MOST_INPUT_BYTES) pendingRead.done.reject(new TmuxError("-: File too large"));
    else pendingRead.parts.push(bytes);
  }

  private becomeAttached(args: readonly string[]): number {
    this.isAttached = true;
    const command = selfCommand([...args])
      .map(quote)
      .join(" ");
    // tmux's shell option is set as SHELL.
    const shell = this.env.SHELL === undefined ? "" : `SHELL=${quote(this.env.SHELL)} `;
    this.send(messages.ready);
    this.send(messages.exec, packed([], `${shell}exec ${command}\0/bin/sh\0`));
    return 0;
  }

  /** Whether its standard input is a terminal, and its output too, if the system reports that. */
  private get hasTerminal(): boolean {
    if (this.tty === "") return false;
    const file = descriptorFile(this.pid, STDOUT);
    return file === null || file === this.tty;
  }

  private send(type: number, data?: Uint8Array): void {
    if (!this.isOver) this.port.write(encodeFrame(type, data));
  }
}

/** The pane in which a process runs, according to its environment. */
function paneIn({ TMUX_PANE: pane = "" }: Readonly<Record<string, string | undefined>>): string | null {
  return /^%\d+$/.test(pane) ? pane.replace("%", "@") : null;
}
