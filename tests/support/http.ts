/** An HTTP client of one server, as in a script: over the Unix socket, or over TCP with the given headers. */
import { expect } from "bun:test";
import type { Screen, Scrollback } from "../../src/protocol/screen.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { until } from "./until.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The body as text, and as JSON if it is JSON. */
  readonly text: string;
  readonly body: unknown;
}

/** Fields of GET /screen besides the screen itself. */
export type ScreenAnswer = Omit<Screen, "lines"> & {
  readonly lines: readonly string[];
  readonly last_activity_ms: number;
  readonly output_cursor: number;
  readonly generation: number;
};
export type ScrollbackAnswer = Omit<Scrollback, "lines"> & { readonly lines: readonly string[] };

export interface HttpOptions {
  /** Null: TCP. */
  readonly unix: string | null;
  /** Without a trailing slash. */
  readonly base?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Http {
  constructor(private readonly options: HttpOptions) {}

  async send(method: string, path: string, init: Omit<RequestInit, "method"> = {}): Promise<Answer> {
    const { unix, base = "http://localhost", headers = {} } = this.options;
    const response = await fetch(`${base}${path}`, {
      ...init,
      method,
      redirect: "manual",
      headers: { ...headers, ...Object.fromEntries(new Headers(init.headers).entries()) },
      ...(unix === null ? {} : { unix }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  }

  get(path: string, init: RequestInit = {}): Promise<Answer> {
    return this.send("GET", path, init);
  }

  delete(path: string): Promise<Answer> {
    return this.send("DELETE", path);
  }

  /** Sends JSON. */
  post(path: string, value: unknown, init: RequestInit = {}): Promise<Answer> {
    return this.json("POST", path, value, init);
  }

  json(method: string, path: string, value: unknown, init: RequestInit = {}): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    return this.send(method, path, { ...init, headers, body: JSON.stringify(value) });
  }

  /** A JSON answer with this status, else an error that shows the actual one. */
  async expect<T>(status: number, answer: Promise<Answer>): Promise<T> {
    const { status: got, body, text } = await answer;
    if (got !== status) throw new Error(`answered ${got}, not ${status}: ${text}`);
    return body as T;
  }

  create(wanted: Readonly<Record<string, unknown>>): Promise<SessionInfo> {
    return this.expect(201, this.post("/sessions", wanted));
  }

  session(name: string): Promise<SessionInfo> {
    return this.expect(200, this.get(`/sessions/${name}`));
  }

  list(query = ""): Promise<SessionInfo[]> {
    return this.expect(200, this.get(`/sessions${query}`));
  }

  async kill(name: string): Promise<void> {
    await this.expect(200, this.delete(`/sessions/${name}`));
  }

  /** Types text literally. */
  async type(name: string, text: string | Uint8Array<ArrayBuffer>): Promise<void> {
    await this.expect(204, this.send("POST", `/sessions/${name}/input`, { body: text }));
  }

  async press(name: string, ...keys: readonly string[]): Promise<void> {
    await this.expect(204, this.post(`/sessions/${name}/keys`, { keys }));
  }

  screen(name: string): Promise<ScreenAnswer> {
    return this.expect(200, this.get(`/sessions/${name}/screen?format=plain`));
  }

  scrollback(name: string, query: string): Promise<ScrollbackAnswer> {
    return this.expect(200, this.get(`/sessions/${name}/scrollback?format=plain&${query}`));
  }

  /** Waits until the screen, as lines of text, matches; returns it. */
  async shows(name: string, wanted: string | RegExp | ((screen: ScreenAnswer) => boolean)): Promise<ScreenAnswer> {
    let last: ScreenAnswer | null = null;
    const found = until(`session ${name} to show ${wanted}`, async () => {
      last = await this.screen(name);
      if (typeof wanted === "function") return wanted(last) ? last : null;
      const text = last.lines.join("\n");
      return (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)) ? last : null;
    });
    return found.catch((error) => {
      throw new Error(`${error.message}; it shows:\n${last?.lines.join("\n").trimEnd()}`);
    });
  }

  /** Waits until the program has ended. */
  ended(name: string): Promise<SessionInfo> {
    return until(`session ${name} to end`, async () => {
      const info = await this.session(name);
      return info.running ? null : info;
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The standard error object with this code; its message repeats the wrong value. */
export function failure(code: string, message: RegExp = /./, details: object = {}): object {
  return {
    error: { code, message: expect.stringMatching(message), hint: expect.stringMatching(/./), ...details },
  };
}
