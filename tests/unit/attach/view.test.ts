/** Bytes for an attached terminal: none are lost, and a slow terminal gets nothing outdated. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import {
  type AttachOutcome,
  describeOutcome,
  exitCode,
  outcomeExitCode,
  toOutcome,
} from "../../../src/attach/outcome.ts";
import { capsFromEnvironment } from "../../../src/attach/render/modes.ts";
import { SessionView } from "../../../src/attach/view.ts";
import { parsePrefix } from "../../../src/keys/prefix.ts";
import { KeyReader } from "../../../src/keys/reader.ts";
import { KeyTables } from "../../../src/keys/tables.ts";
import { type Frame, initialFrameModes } from "../../../src/protocol/frame.ts";
import { encodeFrame } from "../../../src/protocol/frame-codec.ts";
import { plainStyle } from "../../../src/protocol/grid.ts";
import { messageTypes } from "../../../src/protocol/messages.ts";
import { decodeSixel } from "../../../src/terminal/pictures/sixel.ts";
import { TerminalOutput } from "../../../src/wire/terminal-output.ts";
import { until } from "../../support/until.ts";

const size = { rows: 3, cols: 20 };

function frame(text: string): Frame {
  const cells = [...text.padEnd(size.cols)].map((char) => ({ text: char, width: 1, style: plainStyle }) as const);
  const blank = [..." ".repeat(size.cols)].map((char) => ({ text: char, width: 1, style: plainStyle }) as const);
  return {
    ...size,
    lines: [cells, blank, blank],
    cursor: { row: 0, col: 0, visible: true, shape: "block", blink: false },
    modes: initialFrameModes,
    title: null,
  };
}

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

describe("pictures", () => {
  test("a terminal with sixel graphics gets the parts of images in written rows, in place of their cells", () => {
    const written: string[] = [];
    const output = {
      pending: 0,
      write: (bytes: Uint8Array) => void written.push(Buffer.from(bytes).toString("latin1")),
    };
    const view = new SessionView({ output, size, lastingChanges: new Set() }, capsFromEnvironment({ TERM: "xterm" }));
    expect(view.showSixel(undefined)).toBe(false);
    expect(view.showSixel({ width: 10, height: 20 })).toBe(true);
    const image = decodeSixel("#1;2;100;0;0!20~-!20~-!20~-!20~-!20~-!20~-!20N", {
      ...{ width: 200, height: 60 },
      cell: { width: 10, height: 20 },
    });
    const keys = `f=100,s=${image?.width},v=${image?.height},i=9,q=2,m=0`;
    const commands = `\x1b_Ga=t,t=d,${keys};${image?.bytes.toString("base64")}\x1b\\\x1b_Ga=p,U=1,i=9,p=1,c=2,r=2,q=2\x1b\\`;
    const part = (row: number, col: number) => ({
      text: `\u{10eeee}9,${row},${col}`,
      width: 1 as const,
      style: plainStyle,
    });
    const blank = frame("");
    const [empty = [], ...rest] = blank.lines;
    const two = [0, 1].map((row) => [part(row, 0), part(row, 1), ...empty.slice(2)]);
    const pictured = { ...blank, lines: [...two, ...rest.slice(1)] };
    view.showFrame(bytesOf(encodeFrame(null, pictured)));
    expect(written.join("")).not.toMatch(/\x1bP|\u{10eeee}/u);
    view.showPicture({ type: messageTypes.images, payload: Buffer.from(commands) });
    // Both rows at once; the cursor stays.
    expect(written.at(-1)).toMatch(/^\x1b7\x1b\[1;1H\x1bP0;1q"1;1;20;40#0;2;100;0;0#0!20~.*\x1b\\\x1b8$/);
    const typed = {
      ...pictured,
      lines: [[...(two[0] ?? []).slice(0, 2), ...(frame("  x").lines[0] ?? []).slice(2)], ...pictured.lines.slice(1)],
    };
    view.showFrame(bytesOf(encodeFrame(pictured, typed)));
    expect(written.at(-1)).toMatch(/x.*\x1b\[1;1H\x1bP0;1q"1;1;20;20#/);
    // Covered: overwritten, and nothing is drawn.
    view.showFrame(bytesOf(encodeFrame(typed, frame(""))));
    expect(written.at(-1)).not.toContain("\x1bP");
    expect(written.at(-1)).toMatch(/ {3}\r\n {2}/);
    // In the last row, drawing must not scroll.
    view.showFrame(bytesOf(encodeFrame(blank, { ...blank, lines: [...rest, two[0] ?? []] })));
    expect(written.at(-1)).toContain('\x1b[3;1H\x1bP0;1q"1;1;20;12#');
  });

  test("a slow terminal gets the newest picture, with the scrollback and bell of those between", () => {
    const written: string[] = [];
    const output = {
      pending: 0,
      write(bytes: Uint8Array) {
        written.push(new TextDecoder().decode(bytes));
      },
    };
    const view = new SessionView(
      { output, size, lastingChanges: new Set() },
      capsFromEnvironment({ TERM: "xterm-256color" }),
    );
    const frames = ["first", "second", "third", "fourth"].map(frame);
    const send = (index: number, bell = false): void => {
      const [prev, next] = [frames[index - 1] ?? null, frames[index]];
      if (next === undefined) throw new Error("no such frame");
      const scrolled = prev === null ? [] : prev.lines.slice(0, 1);
      view.showFrame(bytesOf(encodeFrame(prev, next, { scrolled, bell, clipboard: null })));
    };
    send(0);
    expect(written.length).toBe(1);
    output.pending = 100;
    send(1);
    send(2, true);
    send(3);
    expect(written.length).toBe(1);
    output.pending = 0;
    view.renderLatest();
    expect(written.length).toBe(2);
    for (const text of ["first", "second", "third", "fourth", "\x07"]) expect(written.join("")).toContain(text);
    view.renderLatest();
    expect(written.length).toBe(2);
  });
});

describe("bytes to a terminal that accepts few at a time", () => {
  test("all arrive, in order, and the end of the wait is reported", async () => {
    const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-fifo-"));
    const path = join(dir, "fifo");
    Bun.spawnSync(["mkfifo", path]);
    const { O_RDWR, O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;
    const keep = fs.openSync(path, O_RDWR | O_NONBLOCK);
    const [reader, writer] = [fs.openSync(path, O_RDONLY | O_NONBLOCK), fs.openSync(path, O_WRONLY | O_NONBLOCK)];
    const output = new TerminalOutput(writer);
    let drained = 0;
    output.onDrain = () => drained++;
    const sent = Buffer.alloc(1_000_000, "0123456789abcdefg");
    for (let at = 0; at < sent.length; at += 70_000) output.write(sent.subarray(at, at + 70_000));
    expect(output.pending).toBeGreaterThan(0);
    const got: Buffer[] = [];
    await until("every byte", () => {
      const part = Buffer.alloc(9_000);
      try {
        got.push(part.subarray(0, fs.readSync(reader, part)));
      } catch {
        return false; // nothing there yet
      }
      return got.reduce((sum, { length }) => sum + length, 0) === sent.length;
    });
    expect(Buffer.concat(got).equals(sent)).toBe(true);
    await until("the end of the wait", () => drained === 1);
    expect(output.pending).toBe(0);
    for (const fd of [keep, reader, writer]) fs.closeSync(fd);
    fs.rmSync(dir, { recursive: true });
  });

  test("a closed terminal accepts everything, and that is reported once", () => {
    const fd = fs.openSync("/dev/null", "r");
    const output = new TerminalOutput(fd);
    let gone = 0;
    output.onGone = () => gone++;
    output.write(new Uint8Array(10));
    output.write(new Uint8Array(10));
    expect({ gone, pending: output.pending }).toEqual({ gone: 1, pending: 0 });
    fs.closeSync(fd);
  });
});

describe("keys", () => {
  function reader(setting = "Ctrl+\\") {
    const seen: string[] = [];
    const keys = new KeyReader(
      { key: parsePrefix(setting), tables: new KeyTables({}), repeatMs: 500, escapeMs: 10, keyHelpMs: 400 },
      {
        forward: (bytes) => seen.push(new TextDecoder().decode(bytes)),
        reply: () => seen.push("<reply>"),
        detach: () => seen.push("<detach>"),
        showHelp: (table) => seen.push(`<help ${table}>`),
        pressTableKey: ({ key }) => seen.push(`<bound ${key}>`),
        release: () => seen.push("<release>"),
      },
    );
    return { seen, keys, push: (text: string) => keys.push(new TextEncoder().encode(text)) };
  }

  test("input before the prefix key is sent before it acts", () => {
    const { seen, push } = reader();
    push("ls\r\x1c\x1crest");
    expect(seen).toEqual(["ls\r", "<detach>"]);
  });

  test("answers of the terminal are separated from the keys", () => {
    const { seen, push } = reader();
    push("a\x1b[?62;22cb");
    expect(seen).toEqual(["<reply>", "ab"]);
  });

  test("a lone Escape is passed on after a moment", async () => {
    const { seen, push } = reader();
    push("\x1b");
    expect(seen).toEqual([]);
    await until("Escape", () => seen.length === 1);
    expect(seen).toEqual(["\x1b"]);
  });

  test("a map of the keys is shown after a moment, until the next one; a faster person sees none", async () => {
    const { seen, push } = reader();
    push("\x1cz");
    expect(seen.splice(0)).toEqual(["<bound z>"]);
    push("\x1c");
    await until("the map", () => seen.includes("<help prefix>"));
    push("zx");
    expect(seen.splice(0)).toEqual(["<help prefix>", "<help null>", "<bound z>", "x"]);
    push("\x1c");
    await until("the map", () => seen.includes("<help prefix>"));
    push("\x1b");
    await until("the map to go", () => seen.includes("<help null>"));
    push("y");
    expect(seen).toEqual(["<help prefix>", "<help null>", "y"]);
  });

  test("while another caller has the keyboard one press takes it back", () => {
    const { seen, keys, push } = reader();
    keys.captured = true;
    push("x\x1c");
    expect(seen).toEqual(["x", "<release>"]);
  });
});

describe("the end reason", () => {
  test.each<[AttachOutcome, string, number]>([
    [{ kind: "detached" }, "[detached from session 'dev']", 0],
    [{ kind: "signalled", signal: "SIGTERM" }, "[detached from session 'dev']", 143],
    [{ kind: "exited", code: 3, signal: null }, "[session 'dev' exited: 3]", 3],
    [{ kind: "exited", code: null, signal: "SIGKILL" }, "[session 'dev' exited: SIGKILL]", 137],
    [{ kind: "exited", code: null, signal: null }, "[session 'dev' exited: unknown]", 125],
    [{ kind: "killed" }, "[session 'dev' was killed]", 1],
    [{ kind: "stopped" }, "[session 'dev' was ended by wsh stop]", 1],
    [{ kind: "crashed" }, "[session 'dev' crashed: its process ended unexpectedly]", 1],
  ])("%j", (outcome, message, code) => {
    expect(describeOutcome(outcome, "dev")).toBe(message);
    expect(outcomeExitCode(outcome)).toBe(code);
  });

  test("a connection that ends without a message is a crash", () => {
    expect(toOutcome(null)).toEqual({ kind: "crashed" });
    expect(toOutcome({ reason: "exited", exit_code: 0 })).toEqual({ kind: "exited", code: 0, signal: null });
    expect(exitCode(null, "SIGHUP")).toBe(129);
  });
});
