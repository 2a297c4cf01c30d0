/** One session over HTTP, as a script drives it: commands, input, waits, output. Every call must succeed. */
import type { CommandRecord, ExecResult, OutputResult, RunResult, Status } from "../../src/protocol/commands.ts";
import type { ConditionInput, WaitResult } from "../../src/protocol/conditions.ts";
import type { Http } from "./http.ts";

/** Prompt of the shells of tests (Wsh). */
const PROMPT = "$ ";

type Fields = Readonly<Record<string, unknown>>;
export type RunAnswer = RunResult & { readonly screen: { readonly lines: readonly string[] }; decided_by: string };

export class SessionApi {
  constructor(
    readonly http: Http,
    readonly name: string,
  ) {}

  /** Makes the session and waits for its shell's first prompt. */
  static async shell(http: Http, name: string, fields: Fields = {}): Promise<SessionApi> {
    await http.create({ name, ...fields });
    const api = new SessionApi(http, name);
    await api.until("prompt");
    return api;
  }

  exec(command: string, fields: Fields = {}): Promise<ExecResult> {
    return this.post("exec", { command, ...fields });
  }

  run(input: string, fields: Fields = {}): Promise<RunAnswer> {
    return this.post("run", { input, format: "plain", ...fields });
  }

  wait(any_of: readonly ConditionInput[], fields: Fields = {}): Promise<WaitResult> {
    return this.post("wait", { any_of, ...fields });
  }

  /** Waits for a condition that must be met. */
  async until(condition: ConditionInput, fields: Fields = {}): Promise<WaitResult> {
    const result = await this.wait([condition], fields);
    const wanted = typeof condition === "string" ? condition : condition.type;
    if (result.decided_by === wanted) return result;
    const { lines } = await this.http.screen(this.name);
    throw new Error(`${wanted} did not come, but ${JSON.stringify(result)}; it shows:\n${lines.join("\n").trimEnd()}`);
  }

  /**
   * Waits until bash's prompt is on the screen with no input behind it: it may be printed after a command has
   * ended and the state is `prompt`. Returns the cursor behind it.
   */
  async promptShown(): Promise<number> {
    const { output_cursor } = await this.http.shows(
      this.name,
      ({ lines, cursor }) => lines[cursor.row]?.trimEnd() === PROMPT.trimEnd() && cursor.col === PROMPT.length,
    );
    return output_cursor;
  }

  status(): Promise<Status> {
    return this.get("status");
  }

  output(query: string): Promise<OutputResult> {
    return this.get(`output?${query}`);
  }

  commands(): Promise<CommandRecord[]> {
    return this.get("commands");
  }

  type(text: string | Uint8Array<ArrayBuffer>): Promise<void> {
    return this.http.type(this.name, text);
  }

  press(...keys: readonly string[]): Promise<void> {
    return this.http.press(this.name, ...keys);
  }

  get<T>(path: string): Promise<T> {
    return this.http.expect(200, this.http.get(`/sessions/${this.name}/${path}`));
  }

  post<T>(path: string, fields: Fields): Promise<T> {
    return this.http.expect(200, this.http.post(`/sessions/${this.name}/${path}`, fields));
  }
}
