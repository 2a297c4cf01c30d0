/**
 * A running command's output, line by line as it comes. What is printed is rendered text, so only lines that are
 * complete go out while the command runs, and the rest when it has ended: the next prompt may stand in the same line.
 * What is read is printed only when the command was still running afterwards, so no prompt is ever taken for output.
 */
import type { CommandRecord, OutputResult } from "../protocol/commands.ts";
import { MAX_OUTPUT_LIMIT } from "../protocol/commands.ts";
import { MAX_WAIT_MS } from "../protocol/conditions.ts";
import type { SessionClient } from "./session-client.ts";

/** Output that comes within this time is printed together, in ms: quick for a reader, few requests for us. */
const GATHER_MS = 25;
/** Characters at once from which on the session is read without pause: its history holds a flood only for moments. */
const FLOOD = 16_384;

export interface ExecStreamOptions {
  readonly print: (text: string) => Promise<void>;
  /** null: for ever. */
  readonly timeoutMs: number | null;
  /** Ends it early, as the time does. */
  readonly signal: AbortSignal;
}

export class ExecStream {
  /** Lines that came faster than they could be read, or were too many to keep. */
  get omittedLines(): number {
    return this.omitted;
  }

  /** Logical line that is printed next. */
  private next = 0;
  /** What is known of a line that goes on. */
  private open: { readonly id: number; readonly text: string } | null = null;
  private omitted = 0;

  constructor(
    private readonly session: SessionClient,
    private readonly id: number,
    private readonly options: ExecStreamOptions,
  ) {}

  /** @returns the command's record: ended, or running when the time is over */
  async follow(): Promise<CommandRecord> {
    const { session, id } = this;
    const over = new AbortController();
    const { timeoutMs, signal } = this.options;
    const leave = (): void => over.abort();
    signal.addEventListener("abort", leave, { once: true });
    const timer = timeoutMs === null ? null : setTimeout(() => over.abort(), timeoutMs);
    try {
      const begun = await session.call("commands.get", { id });
      this.next = begun.first_line_id;
      const finished = this.untilFinished(over.signal).finally(() => over.abort());
      await Promise.all([finished, this.printUntil(begun.output_start, over.signal)]);
      const record = await session.call("commands.get", { id });
      if (record.state !== "running") await this.printRest(record);
      return record;
    } finally {
      over.abort();
      signal.removeEventListener("abort", leave);
      if (timer !== null) clearTimeout(timer);
    }
  }

  private async untilFinished(signal: AbortSignal): Promise<void> {
    const wait = { any_of: ["command_finished" as const], command_id: this.id, max_wait_ms: MAX_WAIT_MS };
    while (!signal.aborted) {
      const { decided_by } = await this.session.call("wait", wait, signal);
      if (decided_by !== "timeout") return;
    }
  }

  private async printUntil(from: number, signal: AbortSignal): Promise<void> {
    for (let since = from; !signal.aborted; ) {
      const ask = { since, wait_ms: MAX_WAIT_MS, max_bytes: MAX_OUTPUT_LIMIT };
      const more = await this.session.call("output.get", ask, signal).catch((error) => {
        if (signal.aborted) return null;
        throw error;
      });
      if (more === null) return;
      const { state } = await this.session.call("commands.get", { id: this.id });
      if (state !== "running") return;
      since = more.output_cursor;
      await this.options.print(this.complete(more));
      if ((more.text?.length ?? 0) < FLOOD) await Bun.sleep(GATHER_MS);
    }
  }

  /** The lines of a reading that are complete; the last one may go on. */
  private complete({ text = "", first_line_id: first, omitted_bytes, omitted_lines = 0 }: OutputResult): string {
    if (typeof first !== "number") return "";
    this.omitted += omitted_lines;
    const lines = text.split("\n");
    if (this.open?.id === first) lines[0] = this.open.text + (lines[0] ?? "");
    const last = lines.pop() ?? "";
    // One line stands for all that were left out.
    const id = first + lines.length + (omitted_bytes > 0 ? Math.max(0, omitted_lines - 1) : 0);
    // The line of the prompt, with the command's echo, may be the first.
    const own = lines.slice(Math.max(0, this.next - first));
    if (id >= this.next) {
      this.open = { id, text: last };
      this.next = id;
    }
    return own.map((line) => `${line}\n`).join("");
  }

  private async printRest(record: CommandRecord): Promise<void> {
    const left = (record.last_line_id ?? this.next) - this.next + 1;
    if (left < 1 || record.output_lines === 0) return;
    const ask = { id: this.id, tail: left, max_bytes: MAX_OUTPUT_LIMIT };
    const { text = "", omitted_lines = 0 } = await this.session.call("commands.output", ask);
    this.omitted += omitted_lines;
    await this.options.print(text === "" || text.endsWith("\n") ? text : `${text}\n`);
  }
}
