/** A link's interface to its transport: the address of the remote gateway, and how to establish it. */
import type { LinkStep } from "./link.ts";
import type { SocketOptions } from "./stream.ts";

/** Destination of requests: over TCP, or a Unix socket of this machine that leads there. */
export interface Base extends SocketOptions {
  /** `https://host/prefix`, without a trailing slash. */
  readonly url: string;
  readonly unix?: string;
  /** The machine to which the server there should forward requests; absent: itself. */
  readonly machine?: string;
}

export interface Transport {
  /** Where the gateway was last reached; null before `open`, and after `connectionLost`. */
  readonly base: Base | null;
  /** Establishes or re-establishes the connection. @throws WshError machine_unreachable with advice */
  open(): Promise<Base>;
  /** A request found no server at the address. */
  connectionLost(): void;
  /** The steps up to the gateway. */
  examine(): AsyncIterable<LinkStep>;
  close(): Promise<void>;
}

/** Path of a request, below the prefix. */
export function pathAt({ machine }: Base, path: string): string {
  if (machine === undefined) return path;
  return `${path}${path.includes("?") ? "&" : "?"}machine=${encodeURIComponent(machine)}`;
}

/** Address of a WebSocket of the gateway. */
export function socketUrl(base: Base, path: string): string {
  const { url, unix } = base;
  if (unix !== undefined) return `ws+unix://${unix}:${new URL(url).pathname.replace(/\/$/, "")}${pathAt(base, path)}`;
  return `${url.replace(/^http/, "ws")}${pathAt(base, path)}`;
}
