/** What a link needs of what carries it: where the far gateway is reached, and how that is made so. */
import type { LinkStep } from "./link.ts";
import type { SocketOptions } from "./stream.ts";

/** Where requests go: over TCP, or a Unix socket of this machine that leads there. */
export interface Base extends SocketOptions {
  /** `https://host/prefix`, without a slash at the end. */
  readonly url: string;
  readonly unix?: string;
}

export interface Way {
  /** Where the gateway was reached last; null before `open`, and after `lost`. */
  readonly base: Base | null;
  /** Makes the way, or makes it anew. @throws WshError machine_unreachable and what to do */
  open(): Promise<Base>;
  /** A request found nobody there. */
  lost(): void;
  /** The steps up to the gateway. */
  examine(): AsyncIterable<LinkStep>;
  close(): Promise<void>;
}

/** Address of a WebSocket of the gateway. */
export function socketUrl({ url, unix }: Base, path: string): string {
  if (unix !== undefined) return `ws+unix://${unix}:${path}`;
  return `${url.replace(/^http/, "ws")}${path}`;
}
