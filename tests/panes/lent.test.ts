/**
 * While text is typed into one of several panes, that pane's own process reads it at the person's terminal. Nobody may
 * notice more of it than its speed.
 */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { splitServer } from "../support/panes.ts";
import { parentOf, readsTerminal, stopProcess, terminalsRead } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

/** Shows what is typed, and keeps every byte of it. */
const RECORD = (file: string): string => `stty raw -echo; printf 'ready '; exec tee ${file}`;
/** Text that moves nothing, so that the terminal is lent, and stays on one row. */
const WORD = "abcdef";
const PREFIX = "\x1c";

/** Two panes beside each other; a person types in the left one. */
async function typist(right = "exec cat") {
  const all = await splitServer();
  const { wsh, http, panes } = all;
  const file = (name: string): string => join(wsh.dir, name);
  await wsh.session("dev", "--", RECORD(file("left")));
  await http.expect(201, http.post("/sessions/dev/panes", { command: right.replace("RECORD", RECORD(file("right"))) }));
  const person = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/ });
  const [left, other] = await panes("dev");
  if (left === undefined || other === undefined) throw new Error("there are no two panes");
  const host = (pid: number): number => parentOf(pid) ?? 0;
  const taken = (name: string): string => (fs.existsSync(file(name)) ? fs.readFileSync(file(name), "latin1") : "");
  /** Types until the process of the left pane reads the keys. @returns what was typed */
  const lend = async (): Promise<string> => {
    let typed = "";
    await until("the terminal to be lent", async () => {
      if (readsTerminal(host(left.pid))) return true;
      // A line that is full is no echo.
      const key = typed.length % 24 === 23 ? "\r\n" : "x";
      typed += key;
      person.type(key);
      await until("the key", () => taken("left").endsWith(typed));
      return false;
    });
    return typed;
  };
  return {
    ...all,
    ...{ person, lend, taken, left, right: other, host },
    [Symbol.asyncDispose]: async () => {
      await person[Symbol.asyncDispose]();
      await all[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(process.platform !== "linux")("a terminal that is lent to a pane's process", () => {
  test("has one reader, shows what is typed at every terminal, and comes back when the person pauses", async () => {
    await using all = await typist();
    const { wsh, person, lend, left, host } = all;
    await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/ });
    await lend();
    const layout = wsh.layoutProcesses()[0] ?? 0;
    expect(terminalsRead(layout)).toBe(1);
    for (const key of WORD) person.type(key);
    await person.sees(WORD);
    await until("the other terminal", async () => (await other.text()) === (await person.text()));
    await until("the layout process to read again", () => terminalsRead(layout) === 2);
    expect(readsTerminal(host(left.pid))).toBe(false);
    person.type("Z");
    await person.sees("Z");
  });

  test("the terminal in use is the one at which somebody types", async () => {
    await using all = await typist();
    const { wsh, person, lend, http } = all;
    const size = async (): Promise<string> => {
      const { windows } = await http.expect<{ windows: { rows: number; cols: number }[] }>(
        200,
        http.get("/sessions/dev"),
      );
      return windows.map(({ rows, cols }) => `${cols}x${rows}`).join();
    };
    await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/, rows: 30, cols: 100 });
    await lend();
    await until("the first one's size", async () => (await size()) === "80x24");
    for (const key of "QRS") {
      other.type(key);
      await person.sees(key);
      await until("the other's size", async () => (await size()) === "100x30");
    }
  });

  test("loses, repeats and swaps no key, whatever else is painted meanwhile", async () => {
    const noise = "bash -c 'for ((;;)); do echo $RANDOM; sleep 0.0$((RANDOM % 10)); done'";
    await using all = await typist(noise);
    const { person, taken } = all;
    const pieces = [
      "a",
      "bc",
      "\x1b[A",
      "\x1b[1;5C",
      "d",
      "\u00e9",
      "\r\n",
      "\x7f",
      "e",
      "\x1bx",
      "\t",
      "fghi",
      "\u65e5",
    ];
    let typed = "";
    // A fixed order that looks like none.
    for (let at = 0, seed = 7; at < 400; at++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const piece = pieces[seed % pieces.length] ?? "";
      typed += Buffer.from(piece).toString("latin1");
      person.type(piece);
      if (at % 8 === 0) await Bun.sleep(seed % 40);
      // An Escape by itself waits for more: here it is the beginning of what follows.
      else await Bun.sleep(0);
    }
    await until("every key", () => taken("left").length >= typed.length);
    expect(taken("left")).toBe(typed);
  });

  test("a key after the focus has moved is the other pane's", async () => {
    await using all = await typist("RECORD");
    const { http, person, lend, taken, right } = all;
    for (let round = 0; round < 10; round++) {
      const before = taken("left") + (await lend());
      await http.expect(200, http.post(`/sessions/${right.id}/pane/select`, {}));
      person.type(`${round}`);
      await until("the key", () => taken("right").length > round);
      expect(taken("left")).toBe(before);
      await http.expect(200, http.post("/sessions/dev:0.0/pane/select", {}));
    }
    expect(taken("right")).toBe("0123456789");
  });

  test("a key after somebody has captured the keyboard is theirs", async () => {
    await using all = await typist();
    const { http, person, lend, taken } = all;
    const before = taken("left") + (await lend());
    await http.expect(204, http.post("/sessions/dev/input/capture", { lease_ms: 60_000 }));
    person.type("k");
    const { keys } = await http.expect<{ keys: { raw: number[] }[] }>(
      200,
      http.get("/sessions/dev/input/keys?wait_ms=30000"),
    );
    expect(keys.map(({ raw }) => String.fromCharCode(...raw))).toEqual(["k"]);
    expect(taken("left")).toBe(before);
  });

  test("a process that hangs does not keep it", async () => {
    await using all = await typist("RECORD");
    const { person, lend, taken, left, host } = all;
    const before = taken("left") + (await lend());
    await stopProcess(host(left.pid));
    try {
      person.type(`${PREFIX}o`);
      await person.sees(/┃|│/);
      person.type("to the right");
      await until("what was typed", () => taken("right") === "to the right");
    } finally {
      process.kill(host(left.pid), "SIGCONT");
    }
    person.type("!");
    await until("what was typed after it", () => taken("right") === "to the right!");
    expect(taken("left")).toBe(before);
  });

  test("a process that is killed takes no key along that was not typed into it", async () => {
    await using all = await typist("RECORD");
    const { person, lend, taken, left, host, panes } = all;
    await lend();
    process.kill(host(left.pid), "SIGKILL");
    await until("the pane to be gone", async () => (await panes("dev")).length === 1);
    person.type("goes on");
    await until("what was typed", () => taken("right") === "goes on");
    await person.sees("goes on");
  });

  test("a client that is stopped has it back", async () => {
    await using all = await typist();
    const { person, lend, left, host, wsh } = all;
    await lend();
    process.kill(person.pid, "SIGSTOP");
    try {
      // Not read by anybody: it belongs to the shell.
      person.type("s");
      await until("nobody to read", () => ![host(left.pid), ...wsh.layoutProcesses()].some(readsTerminal));
    } finally {
      process.kill(person.pid, "SIGCONT");
    }
  });
});
