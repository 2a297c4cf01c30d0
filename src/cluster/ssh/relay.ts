/**
 * The fallback when sshd forwards no Unix sockets: a socket here, and for each connection a channel of the master
 * in which `wsh proxy` copies between its standard input and output and the server's socket there. Startup files
 * may print first: the stream begins after the proxy's hello line. At most MAX_CHANNELS are open at once, since
 * sshd refuses more than ten.
 */
import fs from "node:fs";
import type { SshAddress } from "../../protocol/machines.ts";
import { Outbox } from "../../wire/outbox.ts";
import { writeThrough } from "../../wire/sink.ts";
import { Wire } from "../../wire/socket.ts";
import { PROXY_HELLO } from "../proxy.ts";
import { proxyScript, runArgs, type SshProgram } from "./command.ts";

/** sshd's MaxSessions is 10, and other connections count too. */
const MAX_CHANNELS = 8;
/** Maximum bytes of noise before the hello. */
const MAX_NOISE_BYTES = 64 * 1024;

export class StdioRelay {
  private listener: { stop(): void } | null = null;
  private readonly channels = new Set<Channel>();

  constructor(
    private readonly path: string,
    private readonly program: SshProgram,
    private readonly address: SshAddress,
    private readonly control: string,
  ) {}

  listen(): void {
    fs.rmSync(this.path, { force: true });
    this.listener = Wire.listen(this.path, (wire) => {
      const channel = new Channel(wire, () => this.channels.delete(channel));
      if (this.channels.size >= MAX_CHANNELS) wire.end();
      else {
        this.channels.add(channel);
        channel.start(
          runArgs(this.program, this.address, this.control, { script: proxyScript(this.address), batch: true }),
        );
      }
      return channel.events;
    });
  }

  stop(): void {
    this.listener?.stop();
    this.listener = null;
    for (const channel of [...this.channels]) channel.end();
    fs.rmSync(this.path, { force: true });
  }
}

/** One connection and the process that carries it. */
class Channel {
  private child: Bun.Subprocess<"pipe", "pipe", "ignore"> | null = null;
  private noise: Uint8Array = new Uint8Array();
  private isGreeted = false;
  private isOver = false;
  private readonly toClient: Outbox;
  private drained: PromiseWithResolvers<void> | null = null;

  constructor(
    private readonly wire: Wire,
    private readonly onEnd: () => void,
  ) {
    this.toClient = new Outbox((bytes) => wire.write(bytes));
  }

  get events() {
    return {
      data: (bytes: Uint8Array) => this.personTyped(bytes),
      drain: () => {
        if (this.toClient.drain()) this.drained?.resolve();
      },
      close: () => this.end(),
    };
  }

  start(args: readonly string[]): void {
    this.child = Bun.spawn([...args], { stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    void this.readOutput(this.child.stdout);
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.drained?.resolve();
    this.child?.kill();
    this.wire.end();
    this.onEnd();
  }

  private personTyped(bytes: Uint8Array): void {
    const { child, wire } = this;
    if (child === null || this.isOver) return;
    const taken = writeThrough(child.stdin, bytes);
    if (taken === null) return;
    wire.pause();
    void taken.then(
      () => wire.resume(),
      () => this.end(),
    );
  }

  private async readOutput(stdout: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const bytes of stdout) {
        if (this.isOver) return;
        const own = this.isGreeted ? bytes : this.afterHello(bytes);
        if (own === null) continue;
        this.toClient.write(new Uint8Array(own));
        if (this.toClient.pending > 0) {
          this.drained = Promise.withResolvers<void>();
          await this.drained.promise;
        }
      }
    } catch {
      // The process is gone, and with it the connection.
    }
    this.end();
  }

  /** Bytes after the proxy's hello; null before it. */
  private afterHello(bytes: Uint8Array): Uint8Array | null {
    this.noise = Buffer.concat([this.noise, bytes]);
    const index = Buffer.from(this.noise).indexOf(PROXY_HELLO);
    if (index === -1) {
      if (this.noise.length > MAX_NOISE_BYTES) this.end();
      return null;
    }
    this.isGreeted = true;
    const rest = this.noise.subarray(index + PROXY_HELLO.length);
    this.noise = new Uint8Array();
    return rest;
  }
}
