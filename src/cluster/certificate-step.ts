/**
 * Checks that a server's certificate is for its name, signed by a trusted authority, and valid now; reports with
 * advice.
 */
import net from "node:net";
import tls from "node:tls";
import { errorCode } from "../base/errno.ts";
import { defined } from "../protocol/defined.ts";

const DAY_MS = 86_400_000;
/** Remaining validity below which a certificate is mentioned, in days. */
const SOON_DAYS = 30;
/** Longest handshake, in ms. */
const PATIENCE_MS = 5_000;

export interface CertificateStep {
  readonly ok: boolean;
  readonly text: string;
  readonly advice?: string;
}

/**
 * @param socket connected, before the TLS handshake
 * @param trust advice for a certificate without a trusted signature
 */
export function certificateStep(
  socket: net.Socket,
  host: string,
  ca: string | undefined,
  trust: string,
): Promise<CertificateStep> {
  const { promise, resolve } = Promise.withResolvers<CertificateStep>();
  const timer = setTimeout(
    () => resolve({ ok: false, text: "the TLS handshake stalls", advice: "The listener may not speak TLS." }),
    PATIENCE_MS,
  );
  const name = net.isIP(host) === 0 ? { servername: host } : {};
  const secured = tls.connect({ socket, ...defined({ ca }), ...name, host }, () => {
    const { valid_to: until, issuer } = secured.getPeerCertificate();
    const days = Math.floor((new Date(until).getTime() - Date.now()) / DAY_MS);
    const text = `certificate of ${String(issuer?.CN ?? "an authority")}, ${days} days left`;
    resolve({ ok: true, text, ...(days < SOON_DAYS ? { advice: "It ends soon: renew it." } : {}) });
  });
  secured.on("error", (error) => {
    const text = tlsTrouble(error) ?? error.message;
    const advice = certificateAdvice(error, trust) ?? OTHER_ADVICE;
    resolve({ ok: false, text, advice });
  });
  return promise.finally(() => clearTimeout(timer));
}

/** Describes a certificate's error; null: the error is about something else, or describes itself. */
export function tlsTrouble(error: unknown): string | null {
  return errorCode(error) === "ERR_TLS_CERT_ALTNAME_INVALID" ? "its certificate is for another name" : null;
}

const OTHER_ADVICE = "The listener may not speak TLS, or only another version: check address and port.";

/**
 * Advice for a certificate's error; null: the error has another cause.
 * @param trust advice for a certificate without a trusted signature
 */
export function certificateAdvice(error: unknown, trust: string): string | null {
  const now = `the clock here says ${new Date().toISOString().slice(0, 16)}Z`;
  switch (errorCode(error)) {
    case "CERT_HAS_EXPIRED":
      return `Renew it on the server, or correct the clock here; ${now}.`;
    case "CERT_NOT_YET_VALID":
      return `Correct the clock here, or reissue the certificate with a correct clock; ${now}.`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return "Use an address that it names, or issue a certificate for this address.";
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "CERT_SIGNATURE_FAILURE":
      return trust;
    default:
      return null;
  }
}
