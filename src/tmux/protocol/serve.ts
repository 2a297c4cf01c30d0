/** Serves the clients of an instance's socket for tmux. */
import type { Instance } from "../../instance/paths.ts";
import { Outbox } from "../../wire/outbox.ts";
import type { Wire, WireEvents } from "../../wire/socket.ts";
import { backendOf } from "../instance/backend.ts";
import { type ClientPort, ProtocolClient } from "./client.ts";
import { encodeFrame } from "./frames.ts";
import { messages, packed } from "./messages.ts";

type ClientWire = Pick<Wire, "write" | "end" | "peerPid"> & Pick<ClientPort, "became">;

/** @param socketPath the socket's path as formats print it */
export function serveClient(instance: Instance, socketPath: string, wire: ClientWire): WireEvents {
  const outbox = new Outbox((bytes) => wire.write(bytes));
  const port = {
    write: (bytes: Uint8Array) => outbox.write(bytes),
    get pending() {
      return outbox.pending;
    },
    end: () => wire.end(),
    became: wire.became,
    peerPid: wire.peerPid,
  };
  const client = new ProtocolClient(port, (side) => backendOf(instance, { ...side, socketPath }));
  return {
    data: (bytes) => client.receive(bytes),
    drain() {
      outbox.drain();
      client.drained();
    },
    close: () => client.closed(),
  };
}

/** The frame that ends a client with a message and status 1. */
export function refusal(message: string): Uint8Array {
  return encodeFrame(messages.exit, packed([1], `${message}\0`));
}
