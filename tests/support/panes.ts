/** A server with sessions of several panes, as tests see it. */
import { Http } from "./http.ts";
import { Wsh } from "./wsh.ts";

export interface Pane {
  readonly id: string;
  readonly index: number;
  readonly window: string;
  readonly pid: number;
  readonly command: string;
  readonly row?: number;
  readonly col?: number;
  readonly rows: number;
  readonly cols: number;
  readonly active: boolean;
  readonly hidden?: boolean;
  readonly view?: string;
  readonly state: string;
  readonly program?: string;
  readonly exit_code?: number | null;
}

export async function splitServer(options: ConstructorParameters<typeof Wsh>[0] = {}) {
  const wsh = new Wsh(options);
  const server = await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const panes = (target: string): Promise<Pane[]> => http.expect<Pane[]>(200, http.get(`/sessions/${target}/panes`));
  return { wsh, server, http, panes, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

/** Columns of a screen from the given one, without trailing blanks. */
export function columns(text: string, from: number, to = 1000): string {
  return text
    .split("\n")
    .map((line) => line.slice(from, to).trimEnd())
    .join("\n");
}

/** A line that starts a `sleep` as a job, and ends once the job is that program: before, it is a fork of its shell. */
export function inBackground(sleep: string): string {
  return `${sleep} & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done`;
}
