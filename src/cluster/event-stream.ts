/**
 * Events of another machine's sessions, from its gateway over `/ws/json`. A peer that leaves questions unanswered
 * counts as gone. Events are passed on unchanged; invalid ones are dropped.
 */
import * as v from "valibot";
import { intervals } from "../platform/intervals.ts";
import { WshError } from "../protocol/errors.ts";
import { integerFrom } from "../protocol/fields.ts";
import type { LinkEvents } from "./link.ts";
import type { SocketOptions } from "./stream.ts";

/** How many pings may stay unanswered. */
const MISSED = 2;
/** Longest time until the stream is open, in ms. */
const OPEN_MS = 10_000;

/** The ping: a request with an answer that changes nothing. */
const question = JSON.stringify({ id: "there", method: "server_info" });

const MessageSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([
    v.object({ connected: v.literal(true) }),
    v.object({ event: v.string(), params: v.looseObject({}) }),
    v.object({ type: v.literal("lagged"), skipped: integerFrom(1) }),
    // The answer to the ping.
    v.object({ method: v.literal("server_info") }),
  ]),
);

/** @throws WshError machine_unreachable */
export function openEvents(
  url: string,
  options: SocketOptions,
  machine: string,
  sink: LinkEvents,
): Promise<Disposable> {
  const opening = Promise.withResolvers<Disposable>();
  const socket = new WebSocket(url, { ...options } as never);
  let isOpen = false;
  let isOver = false;
  let unanswered = 0;
  let timer = setTimeout(connectionLost, OPEN_MS);
  function end(): void {
    isOver = true;
    clearTimeout(timer);
    socket.close();
  }
  function connectionLost(): void {
    if (isOver) return;
    end();
    // No effect after it has opened.
    opening.reject(new WshError("machine_unreachable", `machine '${machine}' does not answer`, { machine }));
    if (isOpen) sink.connectionLost();
  }
  socket.onclose = connectionLost;
  socket.onerror = connectionLost;
  socket.onmessage = ({ data }) => {
    if (isOver) return;
    unanswered = 0;
    const message = v.safeParse(MessageSchema, data);
    if (!message.success) connectionLost();
    else if ("connected" in message.output) {
      isOpen = true;
      clearTimeout(timer);
      timer = setInterval(() => {
        if (unanswered++ >= MISSED) connectionLost();
        else socket.send(question);
      }, intervals.peerPing);
      opening.resolve({ [Symbol.dispose]: end });
    } else if ("skipped" in message.output) sink.eventsMissed(message.output.skipped);
    else if ("params" in message.output) sink.event(message.output);
  };
  return opening.promise;
}
