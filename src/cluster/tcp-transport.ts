/** The connection to a gateway that listens on TCP, authenticated by a token. */
import net from "node:net";
import { defined } from "../protocol/defined.ts";
import { type HttpAddress, plainHost } from "../protocol/machines.ts";
import { type CertificateStep, certificateStep } from "./certificate-step.ts";
import type { LinkStep } from "./link.ts";
import type { Base, Transport } from "./transport.ts";
import { transportTrouble } from "./transport-trouble.ts";

/** Longest wait for `/health`, in ms. */
const HEALTH_MS = 5_000;
const HTTPS_PORT = 443;
const TRUST =
  "It is not signed by a trusted authority: remove the machine with wsh servers remove, and add it again with --ca FILE, its authority's certificate.";

export class TcpTransport implements Transport {
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

  connectionLost(): void {}

  async *examine(): AsyncIterable<LinkStep> {
    const { url, tls } = this.base;
    const isSecure = url.startsWith("https:");
    let problem: string | null = null;
    let text = "";
    try {
      const signal = AbortSignal.timeout(HEALTH_MS);
      const { status } = await fetch(`${url}/health`, { signal, ...defined({ tls }) });
      text = `${url} answers (${status})`;
    } catch (thrown) {
      problem = `${url}: ${thrown instanceof Error ? transportTrouble(thrown) : String(thrown)}`;
    }
    const certificate = isSecure ? await this.certificate() : null;
    if (certificate !== null && !certificate.ok) {
      yield { step: "reach", ok: true, text: `${url} is reachable` };
      yield { step: "TLS", ...certificate };
      return;
    }
    if (problem !== null) {
      const advice = "Check the address, the server there, and firewalls.";
      yield { step: "reach", ok: false, text: problem, advice };
      return;
    }
    yield { step: "reach", ok: true, text };
    if (certificate !== null) yield { step: "TLS", ...certificate };
  }

  /** Null: nothing listens. */
  private async certificate(): Promise<CertificateStep | null> {
    const { hostname, port } = new URL(this.base.url);
    const host = plainHost(hostname);
    const socket = net.connect({ host, port: Number(port === "" ? HTTPS_PORT : port) });
    const connected = Promise.withResolvers<boolean>();
    socket.setTimeout(HEALTH_MS, () => connected.resolve(false));
    socket.on("connect", () => connected.resolve(true));
    socket.on("error", () => connected.resolve(false));
    try {
      if (!(await connected.promise)) return null;
      return await certificateStep(socket, host, this.base.tls?.ca, TRUST);
    } finally {
      socket.destroy();
    }
  }

  async close(): Promise<void> {}
}
