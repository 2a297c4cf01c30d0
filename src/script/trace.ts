/**
 * A record of the terminals of a script or a test: every step with the screen before and after it, and the output with
 * the steps as markers. It is kept in memory until it is saved as one HTML file (trace-page.ts) and, for each terminal,
 * an asciicast beside it.
 *
 * Memory is bounded: of a longer run, the newest steps and the beginning of the output are kept.
 */
import fs from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import type { WshClient } from "../client/client.ts";
import type { Screen, StepWatcher, Terminal } from "../client/terminal/language.ts";
import { type TracedStep, tracePage } from "./trace-page.ts";

/** Maximum steps of a trace. */
const MAX_STEPS = 500;
/** Maximum output and markers of a recording, in UTF-16 code units. */
const MAX_RECORDED = 8 * 1024 * 1024;

interface Recording {
  readonly events: [seconds: number, kind: "o" | "m", data: string][];
  readonly size: Screen["size"];
  /** Length of all events' data, in UTF-16 code units. */
  length: number;
  ends: AsyncDisposable | null;
}

export class Trace {
  private readonly began = performance.now();
  private readonly steps: TracedStep[] = [];
  private readonly recordings = new Map<Terminal, Recording>();

  constructor(private readonly subscribe: WshClient["subscribe"]) {}

  readonly watch: StepWatcher<Terminal> = async (terminal, { text, stack }) => {
    const recording = this.recordings.get(terminal) ?? (await this.record(terminal));
    const started = performance.now();
    const step: TracedStep = {
      terminal: terminal.name,
      text,
      place: placeOf(stack),
      at: started - this.began,
      ms: 0,
      before: await screenOf(terminal),
      after: null,
      failure: null,
    };
    this.steps.push(step);
    if (this.steps.length > MAX_STEPS) this.steps.shift();
    addEvent(recording, step.at, "m", text);
    return async (failure) => {
      step.ms = performance.now() - started;
      step.after = await screenOf(terminal);
      step.failure = failure?.message ?? null;
    };
  };

  /** Output of a terminal after the trace began. */
  private async record(terminal: Terminal): Promise<Recording> {
    const first = await terminal.screen();
    const events: Recording["events"] = [[0, "o", first.rows.join("\r\n").trimEnd()]];
    const recording: Recording = { events, size: first.size, length: 0, ends: null };
    this.recordings.set(terminal, recording);
    recording.ends = await this.subscribe(terminal.name, { events: ["chars"] }, (event) => {
      if (!("event" in event) || event.event !== "chars") return;
      addEvent(recording, performance.now() - this.began, "o", event.text);
    });
    return recording;
  }

  /** Creates the page, so that an unwritable path fails before anything runs. @throws Error */
  claim(file: string): void {
    fs.mkdirSync(dirname(file), { recursive: true });
    fs.writeFileSync(pageOf(file), "");
  }

  /** Writes the page and, beside it, a recording of each terminal. @returns the files */
  async save(file: string, failure: unknown): Promise<string[]> {
    fs.mkdirSync(dirname(file), { recursive: true });
    const page = pageOf(file);
    const stem = join(dirname(page), basename(page, ".html"));
    const casts = [...this.recordings].map(([terminal, recording], index) => {
      const cast = index === 0 ? `${stem}.cast` : `${stem}-${index + 1}.cast`;
      fs.writeFileSync(cast, castOf(terminal.name, recording));
      return cast;
    });
    fs.writeFileSync(
      page,
      tracePage(
        this.steps,
        failure,
        casts.map((cast) => basename(cast)),
      ),
    );
    return [page, ...casts];
  }

  /** Forgets all steps and recordings. */
  async close(): Promise<void> {
    for (const { ends } of this.recordings.values()) await ends?.[Symbol.asyncDispose]();
    this.recordings.clear();
    this.steps.length = 0;
  }
}

/** Adds an event, unless the recording is full. @param at time since the trace began, in ms */
function addEvent(recording: Recording, at: number, kind: "o" | "m", data: string): void {
  if (recording.length > MAX_RECORDED) return;
  recording.length += data.length;
  recording.events.push([at / 1000, kind, data]);
}

function pageOf(file: string): string {
  return extname(file) === ".html" ? file : `${file}.html`;
}

/** Header of an asciicast, version 2. */
function castOf(title: string, { events, size }: Recording): string {
  const head = { version: 2, width: size.cols, height: size.rows, title };
  const ordered = [...events].sort(([a], [b]) => a - b);
  return [head, ...ordered].map((line) => `${JSON.stringify(line)}\n`).join("");
}

async function screenOf(terminal: Terminal): Promise<Screen | null> {
  return terminal.screen().catch(() => null);
}

function placeOf(stack: string): string {
  const [, place = ""] =
    /\(?([^\s()]+:\d+):\d+\)?/.exec(stack.split("\n").find((line) => /^\s*at /.test(line)) ?? "") ?? [];
  return place;
}
