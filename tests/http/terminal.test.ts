/** A session's terminal over HTTP: input as bytes and as keys, read as a screen and as a history of lines. */

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import type { Screen, Scrollback } from "../../src/protocol/screen.ts";
import { type Answer, failure, Http } from "../support/http.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** Waits while the other tests run: longer than the default limit of 10 s for a silent connection. */
let longWait: Promise<Answer>;
const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });
beforeAll(async () => {
  await http.create({ name: "silent", command: "sleep 1000" });
  longWait = http.get("/sessions/silent/idle?timeout_ms=60000&max_wait_ms=11500");
  longWait.catch(() => {});
});

/** A session with a program that prints its input bytes in hexadecimal, in order, as they arrive. */
async function listener(name: string, modes = ""): Promise<void> {
  // In raw mode, so that every byte arrives as it was sent.
  const command = `printf '${modes}'; stty raw -echo; echo ready; exec od -An -v -tx1 -w1`;
  await http.create({ name, command, rows: 100 });
  await http.shows(name, "ready");
}

async function received(name: string, hex: string): Promise<void> {
  const wanted = hex.split(" ");
  // od prints a line for each byte, but only when its buffer is read: the bytes come as one string of rows.
  await http.shows(name, ({ lines }) => {
    const bytes = lines.map((line) => line.trim()).filter((line) => /^[0-9a-f]{2}$/.test(line));
    return bytes.join(" ").endsWith(wanted.join(" "));
  });
}

describe("input", () => {
  test("is accepted unchanged, with any content type, and returns the output position", async () => {
    await http.create({ name: "cat", command: "stty -echo; echo ready; cat" });
    await http.shows("cat", "ready");
    const post = (body: string | Uint8Array<ArrayBuffer> | null, headers: Record<string, string> = {}) =>
      http.send("POST", "/sessions/cat/input", { body, headers });
    for (const [at, type] of ["application/json", "text/plain", "application/octet-stream", "x/y"].entries()) {
      const { status, headers, text } = await post(`{line ${at}\n`, { "content-type": type });
      expect({ status, text }).toEqual({ status: 204, text: "" });
      expect(headers.get("wsh-output-cursor")).toMatch(/^\d+$/);
      await http.shows("cat", `{line ${at}`);
    }
    expect(await post(null)).toMatchObject({ status: 204 });
    await post("zażółć 🙂\n");
    await http.shows("cat", "zażółć 🙂");
    await http.create({ name: "deaf", command: "echo ready; exec sleep 1000" });
    // Until then it is the shell that becomes it.
    await until("sleep", async () => (await http.session("deaf")).windows[0]?.panes[0]?.program === "sleep");
    const typed = await http.send("POST", "/sessions/deaf/input", { body: "yes\n" });
    expect({ ...typed, status: typed.status }).toMatchObject({ status: 204, text: "" });
    if (process.platform === "linux")
      expect(typed.headers.get("wsh-warning")).toMatch(/^sleep does not read its input/);
    await http.kill("deaf");
    await http.kill("cat");
  });

  test("of an image is a file for the account alone, typed as its path, and removed with the session", async () => {
    const command = "printf '\\e[?2004h'; stty -echo; echo ready; cat -v";
    await http.create({ name: "images", command });
    await http.shows("images", "ready");
    const image = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(600_000)]);
    const send = (name: string, data: Buffer) =>
      http.post(`/sessions/${name}/image`, { data: data.toString("base64"), format: "png" });
    const paste = (data: Buffer) => http.expect<{ path: string }>(200, send("images", data));
    const { path } = await paste(image);
    const { mode, size } = statSync(path);
    expect([mode & 0o777, size]).toEqual([0o600, image.length]);
    await http.send("POST", "/sessions/images/input", { body: "\n" });
    await http.shows("images", ({ lines }) => lines.join("").includes(`^[[200~${path}^[[201~`));
    expect((await send("images", Buffer.from("#!/bin/sh"))).body).toMatchObject(failure("invalid_request"));
    const small = image.subarray(0, 9);
    const paths = [path];
    for (let n = 0; n < 33; n++) paths.push((await paste(small)).path);
    expect(paths.filter((each) => existsSync(each))).toEqual(paths.slice(-32));
    await http.kill("images");
    await until("the files to be removed", () => !paths.some((each) => existsSync(each)));
    await http.create({ name: "secret", command: "cat", private: true });
    expect((await send("secret", small)).body).toMatchObject(failure("invalid_request"));
    await http.kill("secret");
  });

  test("of every byte arrives", async () => {
    await http.create({ name: "bytes", command: "stty raw -echo; echo ready; head -c 256 | cksum; sleep 1000" });
    await http.shows("bytes", "ready");
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    await http.type("bytes", all);
    const sum = Bun.spawnSync(["cksum"], { stdin: all }).stdout.toString().trim();
    await http.shows("bytes", sum);
    await http.kill("bytes");
  });

  test("is counted in the generation, and does not wait", async () => {
    await http.create({ name: "counted", command: "stty -echo; echo ready; sleep 1000" });
    // With the end of its line, which is sometimes read later.
    await http.shows("counted", ({ lines, cursor }) => lines[0] === "ready" && cursor.row === 1);
    const { generation } = await http.screen("counted");
    await http.type("counted", "x");
    expect((await http.screen("counted")).generation).toBe(generation + 1);
    await http.kill("counted");
  });

  test("over 1 MiB is refused, of exactly 1 MiB it arrives", async () => {
    const size = 1024 * 1024;
    await http.create({ name: "large", command: `stty raw -echo; echo ready; head -c ${size} | cksum; sleep 1000` });
    await http.shows("large", "ready");
    const text = "0123456789abcdef".repeat(size / 16);
    const refused = await http.send("POST", "/sessions/large/input", { body: `${text}!` });
    expect(refused).toMatchObject({ status: 413, body: failure("payload_too_large") });
    await http.type("large", text);
    const sum = Bun.spawnSync(["cksum"], { stdin: Buffer.from(text) })
      .stdout.toString()
      .trim();
    await http.shows("large", sum);
    await http.kill("large");
  });

  test("that a program does not read fails after five seconds, and the session continues", async () => {
    await http.create({ name: "deaf", command: "stty raw -echo; echo ready; sleep 1000" });
    await http.shows("deaf", "ready");
    const answer = await http.send("POST", "/sessions/deaf/input", { body: "x".repeat(1024 * 1024) });
    expect(answer).toMatchObject({ status: 500, body: failure("input_send_failed") });
    expect((await http.screen("deaf")).lines[0]).toBe("ready");
    await http.kill("deaf");
  });
});

describe("keys", () => {
  test("are sent as the program's modes want them", async () => {
    await listener("keys");
    await http.press("keys", "Enter", "Tab", "Escape", "Backspace", "Up", "Ctrl+C", "Alt+x", "F5", "Space", "ü");
    await received("keys", "0d 09 1b 7f 1b 5b 41 03 1b 78 1b 5b 31 35 7e 20 c3 bc");
    await http.kill("keys");
    await listener("application", "\\033[?1h");
    await http.press("application", "Up", "Home");
    await received("application", "1b 4f 41 1b 4f 48");
    await http.kill("application");
  });

  test("come after data, and data is a bracketed paste if the program requested it", async () => {
    await listener("pasted", "\\033[?2004h");
    const send = (body: object) => http.post("/sessions/pasted/keys", body);
    const answer = await send({ data: "a\u001b[20\u001b[201~1~b", paste: true, keys: ["Left"], submit: true });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("wsh-output-cursor")).toMatch(/^\d+$/);
    await received("pasted", "1b 5b 32 30 30 7e 61 62 1b 5b 32 30 31 7e 1b 5b 44 0d");
    await send({ data: "AAEC/w==", encoding: "base64" });
    await received("pasted", "00 01 02 ff");
    await http.kill("pasted");
  });

  test("that are unknown are refused with similar ones, and nothing is sent", async () => {
    await http.create({ name: "wrong", command: "stty -echo; echo ready; cat" });
    await http.shows("wrong", "ready");
    const send = (body: object) => http.post("/sessions/wrong/keys", body);
    expect(await send({ data: "typed", keys: ["Entre"] })).toMatchObject({
      status: 400,
      body: { error: { code: "unknown_key", message: expect.stringMatching(/Entre/) } },
    });
    expect((await send({ keys: ["Entre"] })).text).toContain("Enter");
    expect(await send({ data: "!", encoding: "base64" })).toMatchObject({
      status: 400,
      body: failure("invalid_request"),
    });
    expect(await send({ keys: "Enter" })).toMatchObject({ status: 422, body: failure("invalid_request", /keys/) });
    expect(await send({ encoding: "latin1" })).toMatchObject({
      status: 422,
      body: failure("invalid_request", /encoding/),
    });
    await http.type("wrong", "end\n");
    expect((await http.shows("wrong", "end")).lines.slice(0, 2)).toEqual(["ready", "end"]);
    await http.kill("wrong");
  });
});

describe("the screen", () => {
  test("is its rows with the cursor, as text and as spans", async () => {
    const print = `printf 'plain \\033[1;31mred\\033[0m \\033[38;5;200;48;2;1;2;3mrgb\\033[0m  \\r\\n\\033[44m  \\033[0m\\r\\n日本 e\\u0301'`;
    await http.create({ name: "styled", command: `${print}; sleep 1000`, rows: 5, cols: 40, shell: "bash" });
    await http.shows("styled", "日本");
    const plain = await http.screen("styled");
    expect(plain).toMatchObject({
      lines: ["plain red rgb", "", "日本 é".normalize("NFD"), "", ""],
      cursor: { row: 2, col: 6, visible: true },
      rows: 5,
      cols: 40,
      total_lines: 5,
      first_line_index: 0,
      alternate_active: false,
      epoch: expect.any(Number),
      last_activity_ms: expect.any(Number),
      generation: expect.any(Number),
      output_cursor: expect.any(Number),
    });
    const { lines } = await http.expect<Screen>(200, http.get("/sessions/styled/screen"));
    expect(lines).toEqual([
      [
        { text: "plain " },
        { text: "red", fg: { indexed: 1 }, bold: true },
        { text: " " },
        { text: "rgb", fg: { indexed: 200 }, bg: { rgb: { r: 1, g: 2, b: 3 } } },
      ],
      [{ text: "  ", bg: { indexed: 4 } }],
      [{ text: "日本 é".normalize("NFD") }],
      [],
      [],
    ]);
    expect((await http.get("/sessions/styled/screen?format=styled")).text).toContain('"indexed":200');
    await http.kill("styled");
  });

  test("can be only the last rows that are not blank", async () => {
    await http.create({ name: "tail", command: "seq 1 6; sleep 1000", rows: 10 });
    await http.shows("tail", "6");
    const lines = async (query: string) =>
      ((await http.get(`/sessions/tail/screen?format=plain&${query}`)).body as Screen).lines;
    expect(await lines("tail=2")).toEqual(["5", "6"]);
    expect(await lines("tail=1000")).toEqual(["1", "2", "3", "4", "5", "6"]);
    expect(await http.get("/sessions/tail/screen?tail=0")).toMatchObject({
      status: 400,
      body: failure("invalid_request", /tail/),
    });
    await http.kill("tail");
  });

  test("has an epoch that changes with its content, and only then", async () => {
    await http.create({ name: "epoch", command: "stty -echo; echo ready; cat", rows: 6, cols: 20 });
    // The end of a line, and the move after it, are sometimes read later than the text.
    const below = (row: number) => http.shows("epoch", ({ cursor }) => cursor.row === row && cursor.col === 0);
    await http.shows("epoch", "ready");
    await below(1);
    const epoch = async () => (await http.screen("epoch")).epoch;
    const seen = [await epoch()];
    expect(await epoch()).toBe(seen[0] ?? -1);
    await http.type("epoch", "text\n");
    await http.shows("epoch", "text");
    await below(2);
    seen.push(await epoch());
    await http.post("/sessions/epoch/resize", { rows: 7, cols: 20 });
    seen.push(await epoch());
    await http.type("epoch", "\x1b[1;1H\n"); // the cursor alone: moved by what cat echoes
    await below(1);
    seen.push(await epoch());
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(new Set(seen).size).toBe(4);
    expect(await epoch()).toBe(seen.at(-1) ?? -1);
    await http.kill("epoch");
  });

  test("refuses an unknown format", async () => {
    await http.create({ name: "format", command: "sleep 1000" });
    for (const format of ["html", "Plain", ""]) {
      for (const what of ["screen", "scrollback", "idle?timeout_ms=0"]) {
        const query = `${what}${what.includes("?") ? "&" : "?"}format=${format}`;
        const answer = await http.get(`/sessions/format/${query}`);
        expect(answer).toMatchObject({ status: 400, body: failure("invalid_format", /format/) });
      }
    }
    await http.kill("format");
  });

  test("is the alternate one while the program shows that, and history returns after it", async () => {
    await http.create({
      name: "alt",
      rows: 5,
      cols: 20,
      command: "seq 1 9; printf '\\033[?1049h\\033[Hfull'; read x; printf '\\033[?1049l'; read x",
    });
    const full = await http.shows("alt", "full");
    expect(full).toMatchObject({ alternate_active: true, total_lines: 5, first_line_index: 0 });
    expect((await http.scrollback("alt", "limit=100")).lines).toEqual(full.lines as string[]);
    await http.type("alt", "\r");
    await http.shows("alt", ({ alternate_active }) => !alternate_active);
    expect((await http.scrollback("alt", "limit=100")).lines.slice(0, 9)).toEqual([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
      "7",
      "8",
      "9",
    ]);
    await http.kill("alt");
  });

  test("a resize reflows long lines and loses none", async () => {
    const long = "0123456789".repeat(6);
    await http.create({ name: "reflow", rows: 5, cols: 80, command: `echo ${long}; echo end; sleep 1000` });
    await http.shows("reflow", "end");
    await http.post("/sessions/reflow/resize", { rows: 5, cols: 20 });
    expect((await http.screen("reflow")).lines).toEqual([
      "01234567890123456789",
      "01234567890123456789",
      "01234567890123456789",
      "end",
      "",
    ]);
    await http.post("/sessions/reflow/resize", { rows: 5, cols: 7 });
    const all = (await http.scrollback("reflow", "limit=1000")).lines.join("");
    expect(all).toBe(`${long}end`);
    await http.post("/sessions/reflow/resize", { rows: 5, cols: 80 });
    expect((await http.scrollback("reflow", "limit=1000")).lines.slice(0, 2)).toEqual([long, "end"]);
    await http.kill("reflow");
  });

  test("of a character that arrives in pieces is complete", async () => {
    await http.create({
      name: "pieces",
      command:
        "printf '\\342\\202'; sleep 0.05; printf '\\254 \\360\\237'; sleep 0.05; printf '\\231\\202 \\033[3'; sleep 0.05; printf '1mred\\033[0m end'; sleep 1000",
    });
    expect((await http.shows("pieces", "end")).lines[0]).toBe("€ 🙂 red end");
    await http.kill("pieces");
  });
});

describe("history", () => {
  test("is read from either end, in pages, and searched", async () => {
    await http.create({
      name: "lines",
      rows: 10,
      command: "for i in $(seq 1 3000); do echo line $i of many; done; sleep 1000",
    });
    const screen = await http.shows("lines", ({ lines }) => lines.join("\n").endsWith("line 3000 of many\n"));
    expect(screen).toMatchObject({ total_lines: 3001, first_line_index: 2991 });
    const first = await http.scrollback("lines", "limit=2");
    expect(first).toMatchObject({
      lines: ["line 1 of many", "line 2 of many"],
      total_lines: 3001,
      offset: 0,
      first_line_id: 0,
    });
    expect((await http.scrollback("lines", "")).lines).toHaveLength(100);
    expect((await http.scrollback("lines", "offset=1000&limit=1")).lines).toEqual(["line 1001 of many"]);
    const last = await http.scrollback("lines", "offset=-3");
    expect(last.lines).toEqual(["line 2999 of many", "line 3000 of many", ""]);
    expect(last.offset).toBe(2998);
    expect((await http.scrollback("lines", "offset=-9999&limit=1")).lines).toEqual(["line 1 of many"]);
    expect((await http.scrollback("lines", "offset=3001")).lines).toEqual([]);
    expect((await http.scrollback("lines", "offset=99999")).lines).toEqual([]);
    expect((await http.scrollback("lines", "limit=0")).lines).toEqual([]);
    expect((await http.scrollback("lines", "limit=99999")).lines).toHaveLength(3001);
    const pages: string[] = [];
    for (let offset = 0; offset < 3001; offset += 700) {
      pages.push(...(await http.scrollback("lines", `offset=${offset}&limit=700`)).lines);
    }
    expect(pages.slice(0, 3000)).toEqual(Array.from({ length: 3000 }, (_, i) => `line ${i + 1} of many`));
    expect((await http.scrollback("lines", "grep=line%20100")).lines).toEqual([
      "line 100 of many",
      ...Array.from({ length: 10 }, (_, i) => `line 100${i} of many`),
    ]);
    const found = await http.scrollback("lines", "grep=0%20of&offset=-2&limit=1");
    expect(found).toMatchObject({ lines: ["line 2990 of many"], total_lines: 300, offset: 298 });
    await http.post("/sessions/lines/resize", { rows: 10, cols: 9 });
    expect((await http.scrollback("lines", "grep=line%202999%20of")).lines).toEqual(["line 2999 of many"]);
    await http.post("/sessions/lines/resize", { rows: 10, cols: 80 });
    const styled = await http.expect<Scrollback>(200, http.get("/sessions/lines/scrollback?offset=5&limit=1"));
    expect(styled.lines).toEqual([[{ text: "line 6 of many" }]]);
    for (const query of ["offset=x", "limit=-1", "limit=many", "offset=1.5"]) {
      const answer = await http.get(`/sessions/lines/scrollback?${query}`);
      expect(answer).toMatchObject({ status: 400, body: failure("invalid_request", /offset|limit/) });
    }
    await http.kill("lines");
  });

  test("is cleared with the screen", async () => {
    await http.create({ name: "cleared", rows: 5, command: "stty -echo; seq 1 50; cat" });
    await http.shows("cleared", "50");
    expect(await http.send("POST", "/sessions/cleared/clear")).toMatchObject({ status: 200 });
    expect(await http.screen("cleared")).toMatchObject({ total_lines: 5, lines: ["", "", "", "", ""] });
    await http.type("cleared", "after\n");
    await http.shows("cleared", "after");
    await http.kill("cleared");
  });
});

describe("queries of programs to their terminal", () => {
  test.each([
    ["primary attributes", "\\033[c", /^\x1b\[\?[0-9;]+c$/],
    ["status", "\\033[5n", /^\x1b\[0n$/],
    ["cursor position", "\\033[6n", /^\x1b\[2;1R$/],
    ["a mode", "\\033[?2004$p", /^\x1b\[\?2004;2\$y$/],
  ])("about %s are answered once", async (_, question, answer) => {
    // The end of the answer is not known, so a second query follows the first, whose answer is known.
    const command = `stty raw -echo; printf 'ask\\r\\n${question}\\033[5n'; exec od -An -v -tx1 -w1`;
    const { name } = await http.create({ command, rows: 60 });
    const hexOf = ({ lines }: { lines: readonly string[] }) =>
      lines
        .map((line) => line.trim())
        .filter((line) => /^[0-9a-f]{2}$/.test(line))
        .join("");
    const end = Buffer.from("\x1b[0n").toString("hex");
    const screen = await http.shows(name, (seen) => hexOf(seen).endsWith(end) && hexOf(seen).length > end.length);
    const text = Buffer.from(hexOf(screen), "hex").toString("latin1");
    expect(text.slice(0, -4)).toMatch(answer);
    await http.kill(name);
  });
});

describe("an unknown session", () => {
  test.each([
    ["GET", "screen"],
    ["GET", "scrollback"],
    ["GET", "idle?timeout_ms=0"],
    ["GET", "quiesce?timeout_ms=0"],
    ["POST", "input"],
    ["POST", "keys"],
    ["POST", "resize"],
    ["POST", "signal"],
    ["POST", "restart"],
    ["POST", "clear"],
  ])("%s %s is 404", async (method, what) => {
    const body = method === "POST" ? { body: '{"rows":1,"cols":1,"signal":"INT"}' } : {};
    const headers = { "content-type": "application/json" };
    const answer = await http.send(method, `/sessions/nobody/${what}`, { ...body, headers });
    expect(answer).toMatchObject({ status: 404, body: failure("session_not_found", /nobody/) });
  });
});

test("a wait is not cut off by any silence", async () => {
  expect(await longWait).toMatchObject({ status: 408, body: failure("idle_timeout") });
});
