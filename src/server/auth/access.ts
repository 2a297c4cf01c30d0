/** Admission according to the server's start options: tokens, host names, origins, the rate limit. */
import os from "node:os";
import type { Instance } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import { WshError } from "../../protocol/errors.ts";
import { ensureToken, pageHost } from "../../secrets/own-secrets.ts";
import { type Bind, hostName, isLoopback } from "../http/address.ts";
import type { GuardPolicy } from "./guard.ts";
import { Login } from "./login.ts";
import { RateLimit } from "./rate-limit.ts";
import { TokenStore } from "./token-store.ts";

/** Shortest token that may be set explicitly, in bytes (docs/security.md, Tokens). */
const SHORTEST_TOKEN_BYTES = 16;
/** Limit of requests per second and peer address where other machines can connect (docs/security.md, TCP). */
const EXPOSED_RATE = 100;

export interface AccessOptions {
  readonly instance: Instance;
  readonly logger: Logger;
  readonly hostname: string;
  readonly bind: Bind | null;
  /** Address at which others reach this server, through a proxy. */
  readonly publicUrl?: URL | undefined;
  /** Replaces the instance's own token for this run. */
  readonly token: string | null;
  readonly noAuth: boolean;
  /** Confirms that the server may run without a token beyond this machine. */
  readonly force: boolean;
  readonly corsOrigins: readonly string[];
  /** Requests per second and peer address; 0: none on loopback, 100 elsewhere. */
  readonly rateLimit: number;
}

export interface Access extends Disposable {
  readonly guard: GuardPolicy;
  readonly rateLimit: RateLimit | null;
  /** Null: no login is needed, or none is possible without TCP. */
  readonly login: Login | null;
  /** This machine listens on TCP from now on, if it did not before. @throws WshError unsafe_path */
  openTcp(): void;
}

/**
 * @throws WshError invalid_request (a short token, no token on an address that other machines can reach), unsafe_path
 */
export function createAccess(options: AccessOptions): Access {
  let tokens = tokensOf(options);
  const rate = options.rateLimit > 0 ? options.rateLimit : isExposed(options.bind) ? EXPOSED_RATE : 0;
  const loginBy = (store: TokenStore): Login => {
    return new Login({ instance: options.instance, store });
  };
  let login = tokens instanceof TokenStore ? loginBy(tokens) : null;
  const names = hostNamesOf(options);
  return {
    guard: {
      ...names,
      corsOrigins: new Set(options.corsOrigins),
      tokens: () =>
        tokens === null ? null : tokens === "none" ? [] : [...tokens.validTokens(), ...(login?.tokens() ?? [])],
    },
    get login() {
      return login;
    },
    openTcp() {
      names.hostNames.add(pageHost(options.instance));
      if (tokens !== "none") return;
      tokens = new TokenStore(options.instance, options.token ?? ensureToken(options.instance), options.logger);
      login = loginBy(tokens);
    },
    rateLimit: rate === 0 ? null : new RateLimit(rate),
    [Symbol.dispose]() {
      if (tokens instanceof TokenStore) tokens[Symbol.dispose]();
    },
  };
}

/** Null: no valid token; "none": without TCP. */
function tokensOf(options: AccessOptions): TokenStore | "none" | null {
  const { token, bind, noAuth, force } = options;
  if (noAuth) {
    if (isExposed(bind) && !force) {
      throw new WshError(
        "invalid_request",
        `--no-auth on ${bind?.host} lets anyone who can reach it run commands as you`,
        {
          hint: "Bind to 127.0.0.1, or add --force.",
        },
      );
    }
    return null;
  }
  if (token !== null && Buffer.byteLength(token) < SHORTEST_TOKEN_BYTES) {
    throw new WshError("invalid_request", `the token has ${Buffer.byteLength(token)} bytes`, {
      hint: `Give at least ${SHORTEST_TOKEN_BYTES} bytes, or omit --token to have one created.`,
    });
  }
  if (bind === null) return "none";
  return new TokenStore(options.instance, token ?? ensureToken(options.instance), options.logger);
}

/** Names of this server: a page whose own name was pointed here has another one (DNS rebinding). */
function hostNamesOf({ bind, hostname, instance, publicUrl }: AccessOptions) {
  const names = new Set(["127.0.0.1", "localhost", "[::1]"]);
  if (publicUrl !== undefined) names.add(publicUrl.hostname.toLowerCase());
  if (bind === null) return { hostNames: names, anyAddress: false };
  names.add(hostName(bind.host));
  names.add(pageHost(instance));
  if (isExposed(bind)) for (const name of [hostname, os.hostname()]) names.add(name.toLowerCase());
  return { hostNames: names, anyAddress: bind.host === "0.0.0.0" || bind.host === "::" };
}

/** Whether programs on other machines can reach the address. */
export function isExposed(bind: Bind | null): boolean {
  return bind !== null && !isLoopback(bind.host);
}
