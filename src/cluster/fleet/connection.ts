/**
 * This process's one connection to the NATS servers of its fleet. It is opened at once and kept for the owner's
 * lifetime: the client restores a lost connection; a refused one is retried with growing pauses. Subscriptions belong
 * to the owner and outlast each connection. Nothing is sent while disconnected: the client would queue it and deliver
 * it late, or never. Published data is copied first, since the client keeps a reference until it writes.
 */
import type { ConnectionOptions, Msg, MsgHdrs, NatsConnection, Status } from "@nats-io/transport-node";
import { pause } from "../../base/deadline.ts";
import { intervals } from "../../platform/intervals.ts";
import { defined, present } from "../../protocol/defined.ts";
import type { Credentials, FleetRole } from "../../protocol/fleet.ts";
import { inboxSubject } from "../../protocol/fleet-subjects.ts";

/** How many pings to the server may stay unanswered: a dead connection is known after 10 s. */
const MISSED_PINGS = 2;
/** Pause before the client reconnects, in ms, and a random addition, so that a fleet does not return at once. */
const RECONNECT_MS = 250;
const RECONNECT_JITTER_MS = 500;
/**
 * Pauses between attempts while no server is reached, in ms. The longest applies while all servers refuse: a
 * revoked member is not admitted soon.
 */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
const LONGEST_REFUSED_MS = 5 * 60_000;
/** Longest wait for a server's handshake, in ms. */
const CONNECT_MS = 5_000;

/** Maximum refusals reported while disconnected. */
const MAX_REPORTED = 16;

const encoder = new TextEncoder();

/** The identity of this process in the fleet, and its servers. */
export interface FleetIdentity {
  /** The user's name in subjects: of the machine, or of a person. */
  readonly user: string;
  readonly role: FleetRole;
  readonly servers: readonly string[];
  /** PEM certificates that sign the servers'; null: the system's. */
  readonly ca: string | null;
  readonly tags: readonly string[];
  /** Null: the servers require no login. */
  readonly login: Credentials["login"];
}

export function identityOf({ user, login, settings }: Credentials): FleetIdentity {
  const { role, servers, ca = null, tags } = settings;
  return { user, role, servers, ca, tags, login };
}

export interface FleetMessage {
  readonly subject: string;
  readonly reply: string | undefined;
  /** Valid during the call. */
  readonly data: Uint8Array;
  /** Value of a header; empty without one. */
  header(name: string): string;
  /** NATS's own: 503 means that a message had no receiver. */
  readonly status: number;
}

interface Outgoing {
  readonly reply?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface FleetEvents {
  up(): void;
  /** Messages in transit may be lost. */
  down(): void;
  /** A server refused the credentials, a subscription, or, with its subject, a message. */
  refused(error: Error, subject: string | null): void;
}

type Client = typeof import("@nats-io/transport-node");
type Handler = (message: FleetMessage) => void;

export class FleetConnection {
  /** Last but one token of the subjects of this connection's answers. */
  private readonly connectionId = crypto.randomUUID().replaceAll("-", "");
  private nats: NatsConnection | null = null;
  private client: Client | null = null;
  private isOpen = false;
  private isOver = false;
  private lastError: Error | null = null;
  /** Why the servers refuse this process; null: they did not, or none was asked. */
  private refusal: Error | null = null;
  /** Refusals reported since the last connection: each is reported once. */
  private readonly reported = new Set<string>();
  private readonly subscribed: { readonly subject: string; readonly handler: Handler }[] = [];
  private readonly pause = new AbortController();

  constructor(
    readonly identity: FleetIdentity,
    private readonly events: FleetEvents,
  ) {
    void this.keepConnected();
  }

  /**
   * Subject of an answer: only this user may read it, and only that machine may write it.
   * @param from a machine's name, or `$js` for JetStream
   */
  inboxOf(from: string, id: string): string {
    return inboxSubject(this.identity.user, from, `${this.connectionId}.${id}`);
  }

  /** Whether a message sent now reaches a server. */
  get isUp(): boolean {
    return this.isOpen;
  }

  /** Why there is no connection; null when connected, or before the first attempt. */
  get error(): Error | null {
    return this.isOpen ? null : (this.refusal ?? this.lastError);
  }

  /** Whether the servers refuse this process: its credentials expired, were revoked, or belong to another fleet. */
  get isRejected(): boolean {
    return !this.isOpen && this.refusal !== null;
  }

  /** Why this process is not connected to its fleet, as a sentence; null: it is, or no server was asked so far. */
  get problem(): string | null {
    if (this.error === null) return null;
    return this.isRejected
      ? `the fleet's servers refuse this machine: ${this.error.message}`
      : `the fleet's servers cannot be reached: ${this.error.message}`;
  }

  /** Largest message that the server takes, in bytes. */
  get maxBytes(): number {
    return this.nats?.info?.max_payload ?? 0;
  }

  /** Holds until the connection is closed for good. */
  subscribe(subject: string, handler: Handler): void {
    this.subscribed.push({ subject, handler });
    this.attach(subject, handler);
  }

  /** The same, until disposed. */
  listen(subject: string, handler: Handler): Disposable {
    const { nats } = this;
    const subscription = nats?.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) handler(incoming(message));
      },
    });
    return { [Symbol.dispose]: () => subscription?.unsubscribe() };
  }

  /** @returns false when nothing was sent */
  publish(subject: string, data: Uint8Array | string, { reply, headers }: Outgoing = {}): boolean {
    const { nats, client } = this;
    if (nats === null || client === null || !this.isOpen) return false;
    const payload = typeof data === "string" ? encoder.encode(data) : new Uint8Array(data);
    if (payload.length > this.maxBytes) return false;
    try {
      nats.publish(subject, payload, {
        ...defined({ reply }),
        ...(headers === undefined ? {} : { headers: headersOf(client, headers) }),
      });
      return true;
    } catch {
      return false; // closed meanwhile
    }
  }

  /** Everything that was sent has reached the server. */
  async flush(): Promise<void> {
    await this.nats?.flush().catch(() => {});
  }

  async close(): Promise<void> {
    this.isOver = true;
    this.pause.abort();
    this.isOpen = false;
    await this.nats?.close().catch(() => {});
  }

  private async keepConnected(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.isOver) {
      try {
        this.client ??= await import("@nats-io/transport-node");
        const nats = await connectAs(this.client, this.identity);
        if (this.isOver) {
          await nats.close();
          return;
        }
        pauseMs = FIRST_PAUSE_MS;
        this.begin(nats);
        // Not awaited: the iterator of the client's states never ends if the connection closed before it was requested.
        void this.watch(nats);
        const why = await nats.closed();
        this.connectionLost(why instanceof Error ? why : new Error("the connection was closed"));
        this.keepRefusal(why);
      } catch (thrown) {
        this.connectionLost(thrown instanceof Error ? thrown : new Error(String(thrown)));
        this.keepRefusal(thrown);
        this.reportRefusal(this.lastError ?? new Error("all servers refuse this machine"));
      }
      if (!this.isOver) await pause(pauseMs * (0.5 + Math.random()), this.pause.signal);
      pauseMs = Math.min(this.refusal === null ? LONGEST_PAUSE_MS : LONGEST_REFUSED_MS, pauseMs * 2);
    }
  }

  private begin(nats: NatsConnection): void {
    this.nats = nats;
    for (const { subject, handler } of this.subscribed) this.attach(subject, handler);
    this.connectionOpened();
  }

  private connectionOpened(): void {
    this.isOpen = true;
    this.lastError = null;
    this.refusal = null;
    this.reported.clear();
    this.events.up();
  }

  private reportRefusal(error: Error): void {
    if (this.reported.has(error.message) || this.reported.size === MAX_REPORTED) return;
    this.reported.add(error.message);
    this.events.refused(error, null);
  }

  private attach(subject: string, handler: Handler): void {
    this.nats?.subscribe(subject, {
      callback: (error, message) => {
        if (error === null) handler(incoming(message));
        else this.reportRefusal(error);
      },
    });
  }

  private async watch(nats: NatsConnection): Promise<void> {
    for await (const status of nats.status()) this.statusChanged(status);
  }

  private statusChanged(status: Status): void {
    if (status.type === "disconnect" || status.type === "staleConnection")
      this.connectionLost(new Error("the connection is lost"));
    else if (status.type === "error") {
      this.keepRefusal(status.error);
      const subject = unsentSubject(this.client, status.error);
      if (subject === null) this.reportRefusal(status.error);
      else this.events.refused(status.error, subject);
    } else if (status.type === "reconnect" && !this.isOpen && !this.isOver) this.connectionOpened();
  }

  private keepRefusal(error: unknown): void {
    const { client } = this;
    if (client === null) return;
    if (error instanceof client.AuthorizationError || error instanceof client.UserAuthenticationExpiredError) {
      this.refusal = error;
    }
  }

  private connectionLost(why: Error): void {
    this.lastError = why;
    if (!this.isOpen) return;
    this.isOpen = false;
    this.events.down();
  }
}

/** The subject of a message that the server refused; null: the error is about something else. */
function unsentSubject(client: Client | null, error: Error): string | null {
  const isUnsent = client !== null && error instanceof client.PermissionViolationError && error.operation === "publish";
  return isUnsent ? error.subject : null;
}

export async function connectAs(client: Client, identity: FleetIdentity): Promise<NatsConnection> {
  const { servers, login, ca, user } = identity;
  const options: ConnectionOptions = {
    name: `wsh ${user}`,
    ...(login === null ? {} : { authenticator: authenticatorOf(client, login) }),
    inboxPrefix: `_INBOX.${user}`,
    pingInterval: intervals.peerPing,
    maxPingOut: MISSED_PINGS,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_JITTER_MS,
    reconnectJitterTLS: RECONNECT_JITTER_MS,
    maxReconnectAttempts: -1,
    // After two refusals the client ends: we retry with our own pauses, not four times a second.
    ignoreAuthErrorAbort: false,
    noAsyncTraces: true,
    timeout: CONNECT_MS,
  };
  const sockets = servers.filter((server) => /^wss?:/.test(server));
  const direct = servers.filter((server) => !sockets.includes(server));
  try {
    if (direct.length > 0) return await client.connect({ ...options, servers: direct, tls: tlsOf(direct, ca) });
  } catch (thrown) {
    if (sockets.length === 0) throw thrown;
  }
  return client.wsconnect({
    ...options,
    servers: sockets,
    ...(ca === null
      ? {}
      : { wsFactory: async (url) => ({ socket: trusting(url, ca), encrypted: url.startsWith("wss:") }) }),
  });
}

function authenticatorOf(client: Client, login: NonNullable<FleetIdentity["login"]>) {
  return "jwt" in login
    ? client.jwtAuthenticator(login.jwt, new TextEncoder().encode(login.seed))
    : client.usernamePasswordAuthenticator(login.user, login.password);
}

/** TLS for everything except this machine's own addresses, otherwise no connection. */
function tlsOf(servers: readonly string[], ca: string | null): { ca?: string } | null {
  if (servers.every((server) => server.startsWith("nats:"))) return null;
  return present({ ca });
}

function trusting(url: string, ca: string): WebSocket {
  // Bun's own option, missing from the types of the DOM.
  const socket = new WebSocket(url, { tls: { ca } } as never);
  socket.binaryType = "arraybuffer";
  return socket;
}

function incoming(message: Msg): FleetMessage {
  return {
    subject: message.subject,
    reply: message.reply,
    data: message.data,
    header: (name) => message.headers?.get(name) ?? "",
    status: message.headers?.code ?? 0,
  };
}

function headersOf(client: Client, values: Readonly<Record<string, string>>): MsgHdrs {
  const headers = client.headers();
  for (const [name, value] of Object.entries(values)) headers.append(name, value);
  return headers;
}
