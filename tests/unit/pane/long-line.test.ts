/** A line of megabytes: following it reads each part of it a constant number of times, at any length. */
import { expect, test } from "bun:test";
import { OutputFollower } from "../../../src/pane/text/line-follower.ts";
import { RunningOutput } from "../../../src/pane/text/running-output.ts";
import { PaneText } from "../../../src/pane/text/terminal-text.ts";
import { History } from "../../../src/terminal/history/history.ts";
import { TerminalModel } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";

const CHUNK = 32_768;
const BUDGET = 262_144;

interface Followed {
  /** The output, in pieces. */
  readonly pieces: readonly string[];
  /** Pieces of history that were read. */
  readonly reads: number;
}

async function follow(text: string, historyBytes = 64e6): Promise<Followed> {
  let follower: OutputFollower | null = null;
  let running: RunningOutput | null = null;
  const pieces: string[] = [];
  const options = { rows: 24, cols: 80, historyLines: 10_000, historyBytes, nonce: null, profile: defaultProfile };
  const ignored = (): void => {};
  const terminal: TerminalModel = new TerminalModel(options, {
    ...{ reply: ignored, mark: ignored, crashed: ignored, bell: ignored, title: ignored, cwd: ignored },
    ...{ alternate: ignored, clipboard: ignored, reset: ignored, erased: ignored },
    chunk: () => {
      paneText.noteChunk();
      running?.noteChunk(true);
      follower?.noteChunk();
    },
    retired: (lines) => {
      running?.noteRetired(lines);
      follower?.noteRetired(lines);
    },
  });
  const paneText = new PaneText(terminal);
  await terminal.write(Buffer.from("$ é "));
  running = new RunningOutput(paneText, paneText.position(), BUDGET);
  follower = new OutputFollower(paneText, paneText.position(), (piece) => pieces.push(piece));
  const { segments } = History.prototype;
  let reads = 0;
  History.prototype.segments = function* (...range) {
    for (const segment of segments.apply(this, range)) {
      reads++;
      yield segment;
    }
  };
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += CHUNK) await terminal.write(bytes.subarray(at, at + CHUNK));
    follower.finish(paneText.position());
  } finally {
    History.prototype.segments = segments;
    terminal.dispose();
  }
  return { pieces, reads };
}

function line(chars: number): string {
  return Array.from({ length: chars / 10 }, (_, at) => `${String(at).padStart(8, "é")}漢`).join("");
}

test("reads grow with the line, and it is output in the pieces in which it is written", async () => {
  const counts: number[] = [];
  for (const chars of [500_000, 1_000_000, 2_000_000]) {
    const text = line(chars);
    const { pieces, reads } = await follow(`${text}\r\nnext\r\n`);
    expect(pieces.join("") === `${text}\nnext\n`).toBe(true);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(4 * 65_536);
    counts.push(reads);
  }
  const [first = 0, second = 0, third = 0] = counts;
  expect(second / first).toBeLessThan(2.2);
  expect(third / second).toBeLessThan(2.2);
});

test("nothing is lost or doubled where history drops the beginning of the line meanwhile", async () => {
  const text = line(1_000_000);
  const { pieces } = await follow(`${text}\r\nnext\r\n`, 200_000);
  expect(pieces.join("") === `${text}\nnext\n`).toBe(true);
});
