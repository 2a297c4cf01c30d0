/**
 * The remote end of a link's stream, a WebSocket or messages over a fleet's NATS servers, connected to the socket of
 * one of our session processes. The session process trusts its peers, so each message from the stream is checked: the
 * access is that of the connection's admission, this server names the caller, and identifiers of objects on the other
 * machine (terminals, sockets, ssh agents), which could coincide with objects here, are removed. The session process
 * decides which operations are permitted (operations/rights.ts). Bytes in the other direction are passed on unread.
 * Neither direction holds more than a credit (protocol/credit.ts).
 */
import * as v from "valibot";
import { STREAM_ENDED } from "../../cluster/stream.ts";
import { streamRequests } from "../../operations/peer-requests.ts";
import { requireRights } from "../../operations/rights.ts";
import { findOperation } from "../../operations/table.ts";
import { type Access, type Acting, accessCovers, actingAt, callerLabel, lesserAccess } from "../../protocol/caller.ts";
import { type Request, RequestSchema } from "../../protocol/control.ts";
import { ReceiveCredit, SendCredit } from "../../protocol/credit.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { LINK_CHUNK_BYTES, type LinkNote, LinkNoteSchema } from "../../protocol/machines.ts";
import {
  encodeJsonMessage,
  encodeMessage,
  MessageDecoder,
  messageJson,
  messageTypes,
  type WireMessage,
} from "../../protocol/messages.ts";
import { agentOfCaller } from "../../protocol/owner.ts";
import { ownedBy } from "../../protocol/requests.ts";
import { shareOf } from "../../protocol/shares.ts";
import { Outbox } from "../../wire/outbox.ts";
import type { Carrier, WireEvents } from "../../wire/socket.ts";
import { closeCodes, type WebSocketEndpoint } from "../websocket/websockets.ts";

/** Fields of peer.attach that name objects of the other machine. */
const machineBoundFields = ["terminal", "around", "environment"] as const;

export interface RelayOptions {
  /** Opens a connection to the session process. */
  readonly connect: (events: WireEvents) => Promise<Carrier>;
  readonly acting: Acting;
  /** Unique prefix of the caller's id. */
  readonly id: string;
  /** Whether it is on another machine, which itself states the caller's origin. */
  readonly isPassedOn?: boolean;
  /** Target of requests without one. */
  readonly target?: string;
  /** Aborts when the token of the caller ends. */
  readonly endSignal?: AbortSignal;
  /** Called once. */
  readonly onClosed: () => void;
}

/** The other end: text is a note; binary data are the socket's bytes, which are not retained. */
export interface RelayPeer {
  send(text: string): unknown;
  sendBinary(bytes: Uint8Array): unknown;
  close(code: number, reason: string): void;
}

const AttachFieldsSchema = v.looseObject({ outer: v.optional(v.string()) });

export class SessionRelay implements WebSocketEndpoint {
  private socket: RelayPeer | null = null;
  private wire: Carrier | null = null;
  private readonly toSession: Outbox;
  private readonly decoder = new MessageDecoder();
  private readonly sendCredit = new SendCredit();
  private readonly receiveCredit = new ReceiveCredit();
  /** Bytes from the session process that wait for credit. */
  private waitingChunks: Uint8Array[] = [];
  /** Bytes from the other machine that the session process has not taken yet. */
  private unsentBytes = 0;
  private isOver = false;
  /** The caller that last captured the session's keyboard over this stream. */
  private keyboardHolder: string | null = null;

  constructor(private readonly options: RelayOptions) {
    this.toSession = new Outbox((bytes) => this.wire?.write(bytes) ?? -1);
  }

  open(socket: RelayPeer): void {
    this.socket = socket;
    void this.connect();
  }

  message(data: string | Uint8Array): void {
    if (this.isOver) return;
    try {
      if (typeof data === "string") this.receiveNote(v.parse(v.pipe(v.string(), v.parseJson(), LinkNoteSchema), data));
      else this.receiveBytes(data);
    } catch (thrown) {
      const isOurs = thrown instanceof WshError;
      this.refuse(isOurs ? thrown : new WshError("invalid_request", "not a message of a link's stream"));
    }
  }

  drain(): void {}

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.options.endSignal?.aborted === true) this.releaseKeyboard();
    this.wire?.end();
    this.toSession.clear();
    this.waitingChunks = [];
    this.options.onClosed();
  }

  /** A lost connection may be restored, and with it its callers' captures; one with an ended token may not. */
  private releaseKeyboard(): void {
    if (this.keyboardHolder === null) return;
    const caller = { kind: "cli", id: "server", connected: true };
    const request = { id: 0, op: "peer.caller_gone", input: { id: this.keyboardHolder }, caller, access: "admin" };
    this.toSession.write(encodeJsonMessage(messageTypes.request, request));
  }

  private async connect(): Promise<void> {
    try {
      const wire = await this.options.connect({
        data: (bytes) => this.receiveFromSession(bytes),
        drain: () => this.sessionDrained(),
        close: (isCut) => this.sessionEnded(isCut),
      });
      this.wire = wire;
      if (this.isOver) wire.end();
      else this.sendNote({ open: true });
    } catch (thrown) {
      if (this.isOver) return;
      const isKnown = thrown instanceof WshError;
      this.refuse(isKnown ? thrown : new WshError("session_not_found", "the session no longer has a process"));
    }
  }

  /**
   * The session process has ended the connection: its last bytes are sent first. A lost connection is not such an end.
   */
  private sessionEnded(isCut = false): void {
    this.wire = null;
    if (isCut) this.socket?.close(closeCodes.trouble, "machine_unreachable");
    else if (this.waitingChunks.length === 0) this.socket?.close(closeCodes.normal, STREAM_ENDED);
  }

  private refuse(error: WshError): void {
    this.sendNote({ error: error.toBody() });
    this.socket?.close(closeCodes.trouble, error.code);
  }

  private receiveNote(receiveNote: LinkNote): void {
    if ("ping" in receiveNote) this.sendNote({ pong: receiveNote.ping });
    else if ("credit" in receiveNote) {
      this.sendCredit.grant(receiveNote.credit);
      const { waitingChunks } = this;
      this.waitingChunks = [];
      for (const bytes of waitingChunks) this.send(bytes);
      if (this.waitingChunks.length > 0) return;
      if (this.wire === null) this.socket?.close(closeCodes.normal, STREAM_ENDED);
      else this.wire.resume();
    }
  }

  private receiveBytes(data: Uint8Array): void {
    if (this.wire === null) throw new WshError("invalid_request", "the session's socket is not connected yet");
    if (!this.receiveCredit.arrived(data.length))
      throw new WshError("invalid_request", "more bytes than were permitted");
    for (const message of this.decoder.push(data)) {
      const translated = this.translate(message);
      if (translated !== null) this.toSession.write(translated);
    }
    this.unsentBytes += data.length;
    if (this.toSession.pending === 0) this.grantCredit();
  }

  private sessionDrained(): void {
    if (this.toSession.drain()) this.grantCredit();
  }

  private grantCredit(): void {
    const credit = this.receiveCredit.used(this.unsentBytes);
    this.unsentBytes = 0;
    if (credit > 0) this.sendNote({ credit });
  }

  /** The message in the form for the session process; null: it gets none. @throws WshError invalid_request */
  private translate({ type, payload }: WireMessage): Uint8Array | null {
    if (type === messageTypes.hello) {
      const { role, ...hello } = v.parse(v.looseObject({ role: v.string() }), messageJson({ type, payload }));
      // A server or a session process of this instance has more rights.
      return encodeJsonMessage(type, { ...hello, role: role === "attach" ? "attach" : "cli" });
    }
    if (type === messageTypes.request) return this.request(v.parse(RequestSchema, messageJson({ type, payload })));
    return encodeMessage(type, payload);
  }

  private request(request: Request): Uint8Array | null {
    const { id, isPassedOn = false, target } = this.options;
    // It may act for a caller with less access; its own claims give it nothing more.
    const acting = { ...this.options.acting, access: lesserAccess(this.options.acting.access, request.access) };
    const { access } = acting;
    try {
      requireAllowed(acting, request);
    } catch (thrown) {
      this.send(encodeJsonMessage(messageTypes.response, { id: request.id, error: WshError.from(thrown).toBody() }));
      return null;
    }
    // People, and the audit log, see that it comes from another machine, and by which token.
    const label = callerLabel(request.caller);
    const name = isPassedOn ? label : `${label} over ${id.split("#")[0]}`;
    // The connection's admission determines the caller's access.
    const { kind, id: callerId } = request.caller;
    const agent = acting.caller.agent ?? agentOfCaller(request.caller);
    const caller = {
      ...actingAt(acting.caller, shareOf(request)),
      kind,
      id: `${id}:${callerId}`,
      name,
      connected: true,
      ...present({ agent }),
    };
    if (request.op === "input.capture") this.keyboardHolder = caller.id;
    const input = this.inputOf(request, access);
    const { via } = this.options.acting.caller;
    const once = request.once === undefined ? {} : { once: ownedBy(request.once, via?.id ?? via?.token ?? "") };
    const targetFields = request.target === undefined && target !== undefined ? { target } : {};
    return encodeJsonMessage(messageTypes.request, { ...request, ...targetFields, input, caller, access, ...once });
  }

  private inputOf({ op, input }: Request, access: Access): unknown {
    if (op !== "peer.attach" && op !== "peer.raw") return input;
    const { id } = this.options;
    const readOnly = accessCovers(access, "operate") ? {} : { read_only: true };
    if (op === "peer.raw") return { ...v.parse(v.looseObject({}), input), ...readOnly };
    const attach: Record<string, unknown> = { ...v.parse(AttachFieldsSchema, input), ...readOnly };
    for (const field of machineBoundFields) delete attach[field];
    // Distinguishes another machine's terminals from those of this one.
    if (typeof attach.outer === "string") attach.outer = `${id.split("#")[0]} ${attach.outer}`.slice(0, 256);
    return attach;
  }

  private receiveFromSession(bytes: Uint8Array): void {
    this.send(new Uint8Array(bytes));
  }

  /** Sends within the credit; reading from the session process resumes when there is more credit. */
  private send(bytes: Uint8Array): void {
    if (this.waitingChunks.length > 0) {
      this.waitingChunks.push(bytes);
      return;
    }
    const taken = this.sendCredit.take(bytes.length);
    for (let index = 0; index < taken; index += LINK_CHUNK_BYTES) {
      this.socket?.sendBinary(bytes.subarray(index, Math.min(taken, index + LINK_CHUNK_BYTES)));
    }
    if (taken === bytes.length) return;
    this.waitingChunks.push(bytes.subarray(taken));
    this.wire?.pause();
  }

  private sendNote(note: LinkNote): void {
    if (!this.isOver) this.socket?.send(JSON.stringify(note));
  }
}

/** @throws WshError access_denied, unknown_method */
function requireAllowed(acting: Acting, { op, input }: Request): void {
  const access = streamRequests.get(op);
  const operation = access === undefined ? findOperation(op) : ({ name: op, access, scope: "session" } as const);
  if (operation === undefined || operation.scope === "server") {
    throw new WshError("unknown_method", `'${op}' cannot be requested by another machine`);
  }
  // The process that owns the pane knows its present session.
  requireRights(acting, operation, acting.caller.only ?? null, input);
}
