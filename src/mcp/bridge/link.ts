/**
 * One connection of the bridge to the server: hello, then bytes. Received data is split into lines, each passed on
 * whole, so that a server that dies in the middle of one leaves no partial line on stdout.
 */

import type { Instance } from "../../instance/paths.ts";
import { PEER_TIMEOUT_MS } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { hangingServer } from "../../registry/server-client.ts";
import { isRequestId } from "../../wire/lines.ts";
import { Outbox } from "../../wire/outbox.ts";
import { patience } from "../../wire/patience.ts";
import { Wire } from "../../wire/socket.ts";
import { MESSAGE_START } from "../socket/hello.ts";
import type { ClientHello } from "../socket/listener.ts";
import type { RequestId } from "./open-requests.ts";

/** Longest message of a server, in bytes: the largest result twice, as text and structured content, plus a margin. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
/** Length of the longest key after an answer's id. */
const LONGEST_KEY = ',"result":'.length;

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const messageStart = Buffer.from(MESSAGE_START);

interface LinkEvents {
  /** One message with its newline. */
  line(bytes: Uint8Array): void;
  /** Called once; no line follows. */
  lost(): void;
}

export class Link {
  private readonly outbox: Outbox;
  private drained: PromiseWithResolvers<void> | null = null;
  private lineParts: Uint8Array[] = [];
  private size = 0;
  private hello: PromiseWithResolvers<void> | null = Promise.withResolvers<void>();
  private wire: Wire | null = null;
  isLost = false;

  private constructor(private readonly events: LinkEvents) {
    this.outbox = new Outbox((bytes) => this.wire?.write(bytes) ?? 0);
  }

  /**
   * @throws WshError server_unavailable when no server listens or it hangs; the error that the server sent
   * instead of hello
   */
  static async open(instance: Instance, hello: ClientHello, events: LinkEvents): Promise<Link> {
    const { mcpSocket: path } = instance;
    const link = new Link(events);
    const greeted = link.hello?.promise;
    greeted?.catch(() => {});
    try {
      link.wire = await Wire.connect(path, {
        data: (bytes) => link.receive(bytes),
        drain: () => link.drain(),
        close: () => link.lose(),
      });
    } catch (cause) {
      const message = cause instanceof WshError ? cause.message : `no server listens at ${path}`;
      throw new WshError("server_unavailable", message, {}, { cause });
    }
    link.write(`${JSON.stringify(hello)}\n`);
    const stopPatience = patience(path, PEER_TIMEOUT_MS, () => link.refuse(hangingServer(instance)));
    try {
      await greeted;
      // Minutes pass between two calls of an agent: the connection must cause no wake-ups meanwhile.
      if (!link.isLost) link.wire.rest();
      return link;
    } finally {
      stopPatience();
    }
  }

  write(text: string): void {
    if (!this.isLost) this.outbox.write(Buffer.from(text));
  }

  /** Resolves when at most `bytes` are pending for the server, or it is gone. */
  async waitForRoom(bytes: number): Promise<void> {
    while (!this.isLost && this.outbox.pending > bytes) {
      this.drained ??= Promise.withResolvers<void>();
      await this.drained.promise;
    }
  }

  pause(): void {
    this.wire?.pause();
  }

  resume(): void {
    this.wire?.resume();
  }

  /** Hangs up; `lost` is not called. */
  close(): void {
    this.isLost = true;
    this.drained?.resolve();
    this.wire?.end();
  }

  private drain(): void {
    this.outbox.drain();
    this.drained?.resolve();
    this.drained = null;
  }

  private receive(bytes: Uint8Array): void {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const line = this.joinParts(bytes.subarray(start, end + 1));
      start = end + 1;
      if (this.hello === null) this.events.line(line);
      else this.receiveHello(line);
      if (this.isLost) return;
    }
    if (start === bytes.length) return;
    this.lineParts.push(new Uint8Array(bytes.subarray(start)));
    this.size += bytes.length - start;
    if (this.size > MAX_MESSAGE_BYTES) this.lose();
  }

  private joinParts(end: Uint8Array): Uint8Array {
    const line = this.lineParts.length === 0 ? new Uint8Array(end) : Buffer.concat([...this.lineParts, end]);
    this.lineParts = [];
    this.size = 0;
    return line;
  }

  private receiveHello(line: Uint8Array): void {
    const { hello } = this;
    this.hello = null;
    try {
      const value: unknown = JSON.parse(Buffer.from(line).toString());
      const error = typeof value === "object" && value !== null && "error" in value ? value.error : null;
      if (error === null) hello?.resolve();
      else throw WshError.fromBody(typeof error === "object" ? { ...error } : {});
    } catch (thrown) {
      this.hello = hello;
      this.refuse(WshError.from(thrown));
    }
  }

  private refuse(error: WshError): void {
    this.hello?.reject(error);
    this.hello = null;
    this.close();
  }

  private lose(): void {
    if (this.isLost) return;
    this.isLost = true;
    this.drained?.resolve();
    this.wire?.end();
    const { hello } = this;
    this.hello = null;
    if (hello === null) this.events.lost();
    else hello.reject(new WshError("server_unavailable", "the server hung up"));
  }
}

/** The id of an answer, null for notifications and requests of the server. Relies on hello.ts, MESSAGE_START. */
export function answeredId(line: Uint8Array): RequestId | null {
  return idBefore(line, [',"result":', ',"error":']);
}

/** The id of a request of the server, null for everything else. Relies on hello.ts, MESSAGE_START. */
export function requestedId(line: Uint8Array): RequestId | null {
  return idBefore(line, [',"method":']);
}

/** The id at a line's start, if one of these keys follows it. */
function idBefore(line: Uint8Array, keys: readonly string[]): RequestId | null {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
  if (!bytes.subarray(0, MESSAGE_START.length).equals(messageStart)) return null;
  const end = idEnd(bytes, MESSAGE_START.length);
  const next = bytes.toString("latin1", end, end + LONGEST_KEY);
  if (!keys.some((key) => next.startsWith(key))) return null;
  try {
    const id: unknown = JSON.parse(bytes.toString("utf8", MESSAGE_START.length, end));
    return isRequestId(id) ? id : null;
  } catch {
    return null;
  }
}

/** End of a string or number that begins at `start`, of any length. */
function idEnd(bytes: Buffer, start: number): number {
  if (bytes[start] !== QUOTE) {
    const comma = bytes.indexOf(COMMA, start);
    return comma === -1 ? bytes.length : comma;
  }
  let offset = start + 1;
  while (offset < bytes.length && bytes[offset] !== QUOTE) offset += bytes[offset] === BACKSLASH ? 2 : 1;
  return offset + 1;
}
