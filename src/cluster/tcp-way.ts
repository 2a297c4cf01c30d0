/** The way to a gateway that listens on TCP: it is there or not, and a token admits to it. */
import { WshError } from "../protocol/errors.ts";
import type { HttpAddress } from "../protocol/machines.ts";
import type { LinkStep } from "./link.ts";
import type { Base, Way } from "./way.ts";

/** Longest wait for `/health`, in ms. */
const HEALTH_MS = 5_000;

export class TcpWay implements Way {
  readonly base: Base;

  constructor({ url }: HttpAddress, token: string | null, ca: string | null) {
    this.base = {
      url,
      headers: token === null ? {} : { Authorization: `Bearer ${token}` },
      ...(ca === null ? {} : { tls: { ca } }),
    };
  }

  async open(): Promise<Base> {
    return this.base;
  }

  lost(): void {}

  async *examine(): AsyncIterable<LinkStep> {
    const { url, tls } = this.base;
    try {
      const signal = AbortSignal.timeout(HEALTH_MS);
      const { status } = await fetch(`${url}/health`, { signal, ...(tls === undefined ? {} : { tls }) });
      yield { step: "reach", ok: true, text: `${url} answers (${status})` };
    } catch (thrown) {
      const text = `${url}: ${WshError.from(thrown).message}`;
      yield { step: "reach", ok: false, text, advice: "Check the address, the server there, firewalls and --ca." };
    }
  }

  async close(): Promise<void> {}
}
