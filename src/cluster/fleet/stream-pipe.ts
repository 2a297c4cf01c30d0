/**
 * The transport of a stream over the fleet's NATS servers, at the opening end. Every message has a number; a missing
 * one, a lost connection, and an end of the other side all mean that the stream is lost, and its owner opens another,
 * whose first picture repaints everything.
 */
import type { Access } from "../../protocol/caller.ts";
import {
  decodeStreamMessage,
  encodeStreamMessage,
  headerNames,
  type StreamMessage,
} from "../../protocol/fleet-messages.ts";
import { downSubject, newStreamName, upSubject } from "../../protocol/fleet-subjects.ts";
import type { DialedProcess } from "../../protocol/machines.ts";
import type { Pipe, PipeEvents } from "../stream.ts";
import type { FleetConnection } from "./connection.ts";
import type { FleetRequests } from "./requests.ts";

interface StreamTo {
  readonly machine: string;
  readonly access: Access;
  /** The machine's incarnation; another one refuses. */
  readonly boot: string;
  readonly target: string;
  readonly process: DialedProcess;
}

export interface StreamParts {
  readonly connection: FleetConnection;
  readonly requests: FleetRequests;
  /** Functions that end each open stream, with its machine: all streams are lost with the connection. */
  readonly streams: Map<() => void, string>;
}

export function streamPipe(
  { connection, requests, streams }: StreamParts,
  { machine, access, boot, target, process }: StreamTo,
  { received, connectionLost }: PipeEvents,
): Pipe {
  const { user } = connection.identity;
  const stream = newStreamName();
  const requestSubject = upSubject({ machine, access, user, stream });
  const headers = { [headerNames.boot]: boot };
  let sequence = 0;
  let receivedCount = 0;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    listening[Symbol.dispose]();
    streams.delete(closePipe);
  };
  function closePipe(isEnded = false): void {
    if (isOver) return;
    end();
    connectionLost(isEnded);
  }
  const send = (message: StreamMessage): void => {
    if (isOver) return;
    const encoded = encodeStreamMessage(message, sequence++);
    // The servers report a missing receiver for a note, including pings.
    const isSent =
      message.kind === "note"
        ? requests.announce(machine, requestSubject, encoded, headers, closePipe)
        : connection.publish(requestSubject, encoded, { headers });
    if (!isSent) closePipe();
  };
  const listening = connection.listen(downSubject({ machine, user, stream }), ({ data }) => {
    const decoded = decodeStreamMessage(data);
    if (decoded === null || decoded.number !== receivedCount++) return closePipe();
    const { message } = decoded;
    if (message.kind === "close") return closePipe(true);
    if (message.kind === "note") received(message.text);
    else if (message.kind === "bytes") received(new Uint8Array(message.bytes));
  });
  streams.set(closePipe, machine);
  const opening = encodeStreamMessage({ kind: "open", open: { target, process, caller: "stream" } }, sequence++);
  // Not before the owner has received the pipe.
  queueMicrotask(() => {
    if (!isOver && !requests.announce(machine, requestSubject, opening, headers, closePipe)) closePipe();
  });
  return {
    send: (data) => send(typeof data === "string" ? { kind: "note", text: data } : { kind: "bytes", bytes: data }),
    close() {
      send({ kind: "close" });
      end();
    },
  };
}
