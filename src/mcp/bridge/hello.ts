/** The bridge's first message: the agent's directory, with the part of its environment that the server reads. Pure. */
import { MAX_HELLO_BYTES } from "../socket/hello.ts";
import type { ClientHello } from "../socket/listener.ts";

type Environment = Readonly<Record<string, string>>;

export interface FittedHello {
  readonly hello: ClientHello;
  /** Names of the omitted variables, largest first. */
  readonly omitted: readonly string[];
}

/** Omits the largest variables until the line fits; its newline counts. */
export function fitHello(hello: ClientHello & { readonly env: Environment }): FittedHello {
  let excess = Buffer.byteLength(JSON.stringify(hello)) + 1 - MAX_HELLO_BYTES;
  if (excess <= 0) return { hello, omitted: [] };
  const bySize = Object.entries(hello.env)
    .map(([name, value]) => ({ name, bytes: Buffer.byteLength(`${JSON.stringify(name)}:${JSON.stringify(value)},`) }))
    .sort((a, b) => b.bytes - a.bytes);
  const omitted: string[] = [];
  for (const { name, bytes } of bySize) {
    if (excess <= 0) break;
    omitted.push(name);
    excess -= bytes;
  }
  const left = new Set(omitted);
  const env = Object.fromEntries(Object.entries(hello.env).filter(([name]) => !left.has(name)));
  return { hello: { ...hello, env }, omitted };
}
