/**
 * Requests that reach this machine over its fleet's NATS servers. Operation, access and user come from the subject,
 * which only permitted users can publish; the message's claims about them are ignored. A request for another
 * incarnation is refused, so that of two machines under one name at most one executes it. Answers are sent in pieces.
 */
import type { FleetConnection, FleetMessage } from "../../cluster/fleet/connection.ts";
import type { CallContext } from "../../operations/call.ts";
import { findOperation } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { headerNames, MAX_PARTS, PART_BYTES } from "../../protocol/fleet-messages.ts";
import { isInbox, parseRequestSubject, type RequestSubject } from "../../protocol/fleet-subjects.ts";
import { parseJson } from "../../protocol/json.ts";
import { ASKING_HEADER, askedBy } from "../../protocol/requests.ts";
import type { RequestMetaReader } from "../machines/link-end.ts";

/** Maximum concurrent requests; most of them are waits. */
const MAX_RUNNING = 4096;
/** Longest key of a request, in characters. */
const MAX_KEY = 128;
/** Longest recorded name of an operation, in characters: no operation has a longer one. */
const MAX_OPERATION = 64;
/** Room for the headers of an answer, in bytes. */
const HEADER_BYTES = 4096;

export interface FleetRequestsOptions {
  readonly connection: FleetConnection;
  readonly boot: string;
  readonly handleCall: (
    body: unknown,
    context: CallContext,
    readMeta: RequestMetaReader,
    askerId: string,
  ) => Promise<unknown>;
  /** A request was refused before it was parsed, for the audit log. */
  readonly recordRefusal: (operation: string, context: CallContext, code: string) => void;
  /** The caller of a request with an id no longer wants an answer. */
  readonly cancel: (key: string) => void;
}

interface RunningRequest {
  readonly cancel: AbortController;
}

export class IncomingFleetRequests {
  private readonly running = new Map<string, RunningRequest>();

  constructor(private readonly options: FleetRequestsOptions) {}

  receive(message: FleetMessage): void {
    const recipient = parseRequestSubject(message.subject);
    const { reply } = message;
    const { connection, boot } = this.options;
    // The caller chooses the subject of the answer: only its own inbox is allowed.
    if (recipient === null || !isInbox(reply, recipient.user, recipient.machine)) return;
    if (message.header(headerNames.boot) !== boot) {
      connection.publish(reply, "", { headers: { [headerNames.boot]: boot, [headerNames.refused]: "1" } });
      return;
    }
    const key = `${recipient.user} ${message.header(headerNames.key).slice(0, MAX_KEY)}`;
    const control = message.header(headerNames.control);
    if (control === "cancel") this.cancel(key, recipient, message);
    else if (control === "") void this.answer(recipient, message, reply, key);
  }

  /** The connection is lost: answers to running requests would reach no caller. */
  connectionLost(): void {
    for (const { cancel } of this.running.values()) cancel.abort();
  }

  private cancel(key: string, recipient: RequestSubject, message: FleetMessage): void {
    try {
      const { once } = requestMetaReader(message, recipient.user)({ operation: recipient.operation, input: null });
      if (once !== undefined) this.options.cancel(once.key);
    } catch {
      // An invalid id: no request has it.
    }
    this.running.get(key)?.cancel.abort();
  }

  private async answer(recipient: RequestSubject, message: FleetMessage, reply: string, key: string): Promise<void> {
    const running: RunningRequest = { cancel: new AbortController() };
    const text = new TextDecoder().decode(message.data);
    let answer: object;
    try {
      if (this.running.size >= MAX_RUNNING) {
        throw new WshError("resource_limit_reached", `${MAX_RUNNING} requests of the fleet are already running`);
      }
      this.running.set(key, running);
      const context = memberContext(recipient, running.cancel.signal);
      this.requireAllowed(recipient, context);
      const body = bodyOf(text, recipient.operation);
      const askerId = message.header(ASKING_HEADER);
      answer = {
        result: await this.options.handleCall(body, context, requestMetaReader(message, recipient.user), askerId),
      };
    } catch (thrown) {
      answer = { error: WshError.from(thrown).toBody() };
    } finally {
      if (this.running.get(key) === running) this.running.delete(key);
    }
    this.send(reply, JSON.stringify(answer));
  }

  /** @throws WshError unknown_method, access_denied */
  private requireAllowed(recipient: RequestSubject, context: CallContext): void {
    try {
      requireAllowed(recipient);
    } catch (thrown) {
      this.options.recordRefusal(recipient.operation.slice(0, MAX_OPERATION), context, WshError.from(thrown).code);
      throw thrown;
    }
  }

  private send(reply: string, text: string): void {
    const { connection, boot } = this.options;
    const headers = { [headerNames.boot]: boot };
    const bytes = new TextEncoder().encode(text);
    const size = Math.min(PART_BYTES, connection.maxBytes - HEADER_BYTES);
    if (bytes.length <= size) {
      connection.publish(reply, bytes, { headers });
      return;
    }
    const count = Math.ceil(bytes.length / size);
    if (count > MAX_PARTS) {
      const error = new WshError(
        "outcome_unknown",
        `the answer has ${bytes.length} bytes, more than a fleet can carry`,
      );
      this.send(reply, JSON.stringify({ error: error.toBody() }));
      return;
    }
    for (let index = 0; index < count; index++) {
      const part = { ...headers, [headerNames.part]: `${index}/${count}` };
      connection.publish(reply, bytes.subarray(index * size, (index + 1) * size), { headers: part });
    }
  }
}

/** @throws WshError unknown_method, access_denied */
function requireAllowed({ operation: name, access }: RequestSubject): void {
  const operation = findOperation(name);
  if (operation === undefined) throw new WshError("unknown_method", `no operation '${name}'`);
  // NATS's servers let a user publish under an access, and do not know the operations.
  if (operation.access === access) return;
  throw new WshError(
    "access_denied",
    `'${name}' needs the access '${operation.access}', but was requested with '${access}'`,
  );
}

/** The request for the operation in the subject. */
function bodyOf(text: string, op: string): unknown {
  let body: unknown = null;
  try {
    body = parseJson(text);
  } catch {
    // Invalid JSON is refused like any other invalid request.
  }
  return typeof body === "object" && body !== null ? { ...body, op } : body;
}

/** The context of a call or a stream of another member; its subject states access and user. */
export function memberContext(
  { access, user }: Pick<RequestSubject, "access" | "user">,
  signal: AbortSignal,
): CallContext {
  const id = `fleet:${user}`;
  return { signal, access, caller: { kind: "http", id, connected: false, via: { token: id, peer: null } } };
}

/** Reads the metadata from the headers of the request. */
function requestMetaReader(message: FleetMessage, user: string): RequestMetaReader {
  return (asks) => askedBy((name) => message.header(name) || undefined, `fleet:${user}`, asks);
}
