/** Listen addresses, as people write them. Pure. */
import { isIPv4, isIPv6 } from "node:net";
import { WshError } from "../../protocol/errors.ts";

export interface Bind {
  /** A name, an IPv4 address, or an IPv6 address in its shortest form. */
  readonly host: string;
  readonly port: number;
}

const HIGHEST_PORT = 65_535;

/** @throws WshError invalid_request; null means no TCP */
export function parseBind(text: string): Bind | null {
  if (text === "none") return null;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] === undefined ? nameOrIPv4(match?.[2]) : shortIPv6(match[1]);
  const port = Number(match?.[3]);
  if (host === undefined || port > HIGHEST_PORT) {
    throw new WshError("invalid_request", `'${text}' is not an address to bind`, {
      hint: "Use HOST:PORT, [IPV6]:PORT, or none; 0.0.0.0 is every interface.",
    });
  }
  return { host, port };
}

/** The system also accepts `0`, `127.1` and `0x7f.1` as addresses; a reader cannot see which. */
function nameOrIPv4(host: string | undefined): string | undefined {
  const isNumber = host !== undefined && /^(0x[0-9a-f]*|\d+)$/i.test(host.split(".").at(-1) ?? "");
  return isNumber && !isIPv4(host) ? undefined : host;
}

/** The canonical form of an address, for comparison. */
function shortIPv6(host: string): string | undefined {
  return isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : undefined;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The address as a Host header writes it. */
export function hostName(host: string): string {
  return host.includes(":") ? `[${host.toLowerCase()}]` : host.toLowerCase();
}
