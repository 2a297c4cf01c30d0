/** Tools on a terminal: typing, reading the screen, waiting for silence. */
import * as v from "valibot";
import { inputSchema, outputSchema } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { optional } from "../../protocol/fields.ts";
import { FormatSchema } from "../../protocol/screen.ts";
import { DEFAULT_IDLE_MS, WaitMsSchema } from "../../protocol/wait-times.ts";
import { type RunPart, shownRun, shownScreen, withoutBlankEnd } from "./plain-screen.ts";
import { done, drives, reads, TargetField, tool } from "./tool.ts";

const send = inputSchema("input.send").entries;
const idle = inputSchema("idle.await").entries;
const screen = inputSchema("screen.get").entries;
const { output_limit, include, format: _styled, tail, port: _port, ...run } = inputSchema("run").entries;
const { format: _format, ...scrollback } = inputSchema("scrollback.get").entries;
const { screen: _screen, since: _since, ...ran } = outputSchema("run").entries;

/** A model reads text. */
const PlainField = optional(FormatSchema, "styled: with colours", "plain");
/** Output of a run unless the caller asks for more, in bytes: a screen of 24 rows. */
const RUN_OUTPUT_BYTES = 2_048;
const ShownScreen = v.optional(v.union([v.string(), v.looseObject({})]));

export const sendInput = tool({
  name: "wsh_send_input",
  title: "Type into a session",
  description:
    "Type or press keys without waiting for the effect. wsh_run_command shows it; wsh_exec runs shell commands.",
  core: true,
  ...drives,
  parameters: v.object({
    session: TargetField,
    input: v.optional(v.string()),
    encoding: send.encoding,
    keys: send.keys,
    submit: send.submit,
    paste: send.paste,
  }),
  schemaOverrides: {
    encoding: { enum: ["utf8", "base64"], default: "utf8", description: "of input" },
    paste: { type: "boolean", description: "as a paste" },
    keys: { type: "array", items: { type: "string" } },
    submit: { type: "boolean" },
  },
  output: v.object({ success: v.boolean(), status: v.string(), bytes: v.number(), output_cursor: v.number() }),
  run: async ({ session, input, ...rest }, ask) => {
    const sent = await ask("input.send", { ...rest, ...defined({ data: input }) }, session);
    return { ...done, status: "sent", ...sent };
  },
});

export const getScreen = tool({
  name: "wsh_get_screen",
  title: "Look at the screen",
  description: "The terminal's screen, cursor, size, title and state. For a command's output use wsh_get_output.",
  core: true,
  ...reads,
  parameters: v.object({ session: TargetField, format: PlainField, rows: screen.tail }),
  schemaOverrides: {
    format: { enum: ["plain", "styled"], type: "string", default: "plain" },
    rows: { type: "integer" },
  },
  output: v.object({ state: v.string(), title: v.string(), output_cursor: v.number(), screen: v.optional(v.string()) }),
  run: async ({ session, format, rows }, ask) =>
    shownScreen(await ask("screen.get", { format, ...defined({ tail: rows }) }, session), format),
});

/** Bytes of lines in one answer. */
const PAGE_BYTES = 32_768;
/** Characters of the beginning and the end of a line that is longer than a page. */
const LONG_LINE_ENDS = 1_000;

/** As many lines as fit; the result names the omitted ones and the way to them. */
function boundedPage<P extends { readonly lines: readonly unknown[]; readonly offset: number }>(page: P): P | object {
  const { lines, offset } = page;
  const pageLines: unknown[] = [];
  const warnings: string[] = [];
  let remainingBytes = PAGE_BYTES;
  for (const line of lines) {
    const text = typeof line === "string" ? line : JSON.stringify(line);
    const size = Buffer.byteLength(text) + 1;
    if (size > remainingBytes && pageLines.length > 0) break;
    const isLong = size > PAGE_BYTES;
    pageLines.push(isLong ? `${text.slice(0, LONG_LINE_ENDS)}[…]${text.slice(-LONG_LINE_ENDS)}` : line);
    if (isLong)
      warnings.push(
        `line ${offset + pageLines.length - 1} has ${size} bytes and is cut: search it by wsh_get_output with grep`,
      );
    remainingBytes -= Math.min(size, PAGE_BYTES);
  }
  const omitted = lines.length - pageLines.length;
  if (omitted > 0)
    warnings.push(
      `${omitted} lines are omitted past ${PAGE_BYTES} bytes: continue with offset ${offset + pageLines.length}`,
    );
  if (warnings.length === 0) return page;
  return { ...page, lines: pageLines, ...(omitted > 0 ? { omitted_lines: omitted } : {}), warnings };
}

export const getScrollback = tool({
  name: "wsh_get_scrollback",
  title: "Read the history",
  description: "Lines of history and screen, oldest first; a negative offset counts from the end.",
  core: false,
  ...reads,
  parameters: v.object({ session: TargetField, format: PlainField, ...scrollback }),
  schemaOverrides: {
    format: { enum: ["plain", "styled"], type: "string", default: "plain" },
    offset: { type: "integer", default: 0, description: "first line" },
    limit: { type: "integer", default: 100, description: "lines" },
    grep: { type: "string", description: "only lines with this text; offset counts these" },
  },
  output: outputSchema("scrollback.get"),
  run: async ({ session, ...rest }, ask) => {
    const page = await ask("scrollback.get", rest, session);
    return boundedPage(rest.format === "plain" ? { ...page, lines: withoutBlankEnd(page.lines) } : page);
  },
});

export const awaitQuiesce = tool({
  name: "wsh_await_quiesce",
  title: "Wait for quiet",
  description: "Wait until a session was idle for timeout_ms. Prefer wsh_wait.",
  core: false,
  ...reads,
  parameters: v.object({
    session: TargetField,
    timeout_ms: optional(WaitMsSchema, "silence that counts, in ms", DEFAULT_IDLE_MS),
    max_wait_ms: idle.max_wait_ms,
    last_generation: idle.last_generation,
    fresh: idle.fresh,
  }),
  schemaOverrides: {
    timeout_ms: { type: "integer", default: DEFAULT_IDLE_MS },
    max_wait_ms: { type: "integer", default: 30_000 },
    last_generation: { type: "integer", description: "first await activity after this" },
    fresh: { type: "boolean", description: "silence from now on" },
  },
  output: v.object({ status: v.string(), generation: v.number(), decided_by: v.string(), output_cursor: v.number() }),
  reportsProgress: true,
  run: async ({ session, ...rest }, ask) => {
    const { generation, decided_by, output_cursor, running, exit_code, signal } = await ask(
      "idle.await",
      { ...rest, format: "plain" },
      session,
    );
    const ended = running ? {} : { running, exit_code, signal };
    return { status: "idle", generation, decided_by, output_cursor, ...ended };
  },
});

export const runCommand = tool({
  name: "wsh_run_command",
  title: "Type and see what happens",
  description:
    "Type into whatever runs (prompt, question, menu, REPL, editor), wait for the effect's end, return what came after: " +
    "output of a line program with its next prompt, or the screen of a full-screen one. " +
    "No newline is added: set submit. A whole dialog is one call: each step is typed when its expect has newly come: a text (echo does " +
    'not count), a condition as of wsh_wait, "fullscreen": input: "./setup", submit: true, steps: [{"expect":"Continue?","input":"y","submit":true}, ' +
    '{"expect":"Choose","keys":["Down","Enter"]}]. The first that does not come ends it. What branches: wsh_script. ' +
    "commands: all that ended. For shell commands wsh_exec is exact and smaller.",
  core: true,
  ...drives,
  parameters: v.object({
    session: TargetField,
    ...run,
    output_limit: v.optional(output_limit.wrapped, RUN_OUTPUT_BYTES),
    include: optional(include.wrapped, "parts to return (default: whichever fits)"),
    rows: tail,
    format: PlainField,
  }),
  schemaOverrides: {
    steps: {
      type: "array",
      items: { type: "object" },
      description:
        "{expect?, input?, keys?, submit?} after input and keys; without expect: when the one before has ended",
    },
    input: { type: "string", default: "", description: "typed unchanged" },
    keys: { type: "array", items: { type: "string" }, description: 'after input: ["Ctrl+C", "Up", "F5", "Alt+x"]' },
    submit: { type: "boolean", description: "then Enter" },
    timeout_ms: { type: "integer", default: DEFAULT_IDLE_MS, description: "silence that counts as the end" },
    max_wait_ms: { type: "integer", default: 30_000 },
    until: {
      type: "array",
      items: { anyOf: [{ type: "string" }, { type: "object" }] },
      description: "then, as of wsh_exec; still running is ordinary",
    },
    since: { type: "integer", description: "output_cursor: show output from there" },
    create: { type: "boolean" },
    cwd: { type: "string" },
    env: { type: "object" },
    output_limit: { type: "integer", default: RUN_OUTPUT_BYTES },
    include: {
      type: "array",
      items: { enum: ["output", "screen"], type: "string" },
      description: "default: whichever fits",
    },
    rows: { type: "integer", description: "of the screen, the last non-blank ones" },
  },
  output: v.object({ ...ran, screen: ShownScreen }),
  reportsProgress: true,
  run: async ({ session, include, format, rows: tail, ...rest }, ask) => {
    try {
      return shownRun(await ask("run", { ...rest, format, tail }, session), include, format);
    } catch (error) {
      throw shownTimeout(error, include, format);
    }
  },
});

const CODES_WITH_OUTPUT: ReadonlySet<string> = new Set(["idle_timeout", "expect_not_met"]);

/** A timed-out wait reports its findings, in the same form. */
function shownTimeout(error: unknown, include: readonly RunPart[] | undefined, format: "plain" | "styled"): unknown {
  if (!(error instanceof WshError) || !CODES_WITH_OUTPUT.has(error.code)) return error;
  const seen = v.safeParse(outputSchema("run"), error.details);
  if (!seen.success) return error;
  const { step } = error.details;
  const shown = shownRun(seen.output, include, format);
  return new WshError(error.code, error.message, step === undefined ? shown : { step, ...shown });
}
