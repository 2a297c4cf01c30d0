/**
 * The server of this page: its address, and the bearer for its requests, which is kept in memory only (login.ts obtains
 * it).
 */

/** Time for each step towards a connection, in ms: a dead network reports no error. */
const STEP_MS = 10_000;

/** An unsuccessful answer, with the server's message. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

export class Server {
  /** Address of the page's folder, which is the root of the API: `http://host:8080/`. */
  readonly root = new URL("./", document.baseURI);
  /** Obtains a new bearer if there is none, or the last one was refused. */
  login: () => Promise<string | null> = () => Promise.resolve(null);
  private bearer: string | null = null;
  private pending: Promise<string | null> | null = null;

  /** Sends a request with the bearer; repeats it once with a new bearer if refused. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const first = await this.send(path, init);
    if (!(await isUnknown(first))) return this.checked(first);
    this.bearer = null;
    return this.checked(await this.send(path, init));
  }

  async json<T>(path: string, body?: unknown, init: RequestInit = {}): Promise<T> {
    const posted: RequestInit =
      body === undefined
        ? {}
        : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    const response = await this.request(path, { ...init, ...posted });
    return response.json();
  }

  /** A request without a bearer, with which one is obtained. */
  async post<T>(path: string, body: unknown): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    const init: RequestInit = {
      method: "POST",
      body: JSON.stringify(body),
      headers,
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(STEP_MS),
    };
    return (await this.checked(await fetch(new URL(path, this.root), init))).json();
  }

  /** Address of a WebSocket, with a ticket to open it. */
  async socketUrl(path: string): Promise<URL> {
    const { ticket } = await this.json<{ ticket: string }>(
      "auth/ws-ticket",
      {},
      { signal: AbortSignal.timeout(STEP_MS) },
    );
    const url = new URL(path, this.root);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("ticket", ticket);
    return url;
  }

  private async send(path: string, init: RequestInit): Promise<Response> {
    this.bearer ??= await this.newBearer();
    const headers = new Headers(init.headers);
    if (this.bearer !== null) headers.set("Authorization", `Bearer ${this.bearer}`);
    return fetch(new URL(path, this.root), { ...init, headers, cache: "no-store", redirect: "error" });
  }

  private newBearer(): Promise<string | null> {
    this.pending ??= this.login().finally(() => {
      this.pending = null;
    });
    return this.pending;
  }

  private async checked(response: Response): Promise<Response> {
    if (response.ok) return response;
    const body: { error?: { code?: string; message?: string; hint?: string } } = await response
      .json()
      .catch(() => ({}));
    const { code = "internal_error", message = `the server answered ${response.status}`, hint = "" } = body.error ?? {};
    throw new Refusal(response.status, code, message, hint);
  }
}

/** Whether the server does not know the bearer: it is valid for minutes, and no longer than the server runs. */
async function isUnknown(response: Response): Promise<boolean> {
  if (response.status === 401) return true;
  if (response.status !== 403) return false;
  const body: { error?: { code?: string } } = await response
    .clone()
    .json()
    .catch(() => ({}));
  return body.error?.code === "auth_invalid";
}
