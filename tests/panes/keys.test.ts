/** A person's input reaches the active pane, each key once and in order, whatever else happens. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

/** Shows its input, and keeps every byte of it. */
const RECORD = (file: string): string => `stty raw -echo; printf 'ready '; exec tee ${file}`;

/** Two panes beside each other; a person types in the left one. */
async function typist(right = "exec cat") {
  const all = await splitServer();
  const { wsh, http, panes } = all;
  const file = (name: string): string => join(wsh.dir, name);
  await wsh.session("dev", "--", RECORD(file("left")));
  await http.expect(201, http.post("/sessions/dev/panes", { command: right.replace("RECORD", RECORD(file("right"))) }));
  const person = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/ });
  const [, other] = await panes("dev");
  if (other === undefined) throw new Error("there are no two panes");
  const taken = (name: string): string => (fs.existsSync(file(name)) ? fs.readFileSync(file(name), "latin1") : "");
  /** Types a few keys. @returns them */
  const warm = async (): Promise<string> => {
    const before = taken("left").length;
    person.type("xyz");
    await until("the keys", () => taken("left").length === before + 3);
    return "xyz";
  };
  return {
    ...all,
    ...{ person, warm, taken, right: other },
    [Symbol.asyncDispose]: async () => {
      await person[Symbol.asyncDispose]();
      await all[Symbol.asyncDispose]();
    },
  };
}

describe("input to one of several panes", () => {
  test("the terminal in use is the one at which somebody types", async () => {
    await using all = await typist();
    const { wsh, person, warm, http } = all;
    const size = async (): Promise<string> => {
      const { windows } = await http.expect<{ windows: { rows: number; cols: number }[] }>(
        200,
        http.get("/sessions/dev"),
      );
      return windows.map(({ rows, cols }) => `${cols}x${rows}`).join();
    };
    await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: /ready/, rows: 30, cols: 100 });
    await warm();
    await until("the first one's size", async () => (await size()) === "80x24");
    for (const key of "QRS") {
      other.type(key);
      await person.sees(key);
      await until("the other's size", async () => (await size()) === "100x30");
    }
  });

  test("is not lost, repeated or reordered, whatever else is rendered meanwhile", async () => {
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
    // A fixed order that looks random.
    for (let at = 0, seed = 7; at < 400; at++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const piece = pieces[seed % pieces.length] ?? "";
      typed += Buffer.from(piece).toString("latin1");
      person.type(piece);
      if (at % 8 === 0) await Bun.sleep(seed % 40);
      // An Escape alone waits for more: here it begins the next sequence.
      else await Bun.sleep(0);
    }
    await until("every key", () => taken("left").length >= typed.length);
    expect(taken("left")).toBe(typed);
  });

  test("reaches the other pane after the focus has moved", async () => {
    await using all = await typist("RECORD");
    const { http, person, warm, taken, right } = all;
    for (let round = 0; round < 10; round++) {
      const before = taken("left") + (await warm());
      await http.expect(200, http.post(`/sessions/${right.id}/pane/select`, {}));
      person.type(`${round}`);
      await until("the key", () => taken("right").length > round);
      expect(taken("left")).toBe(before);
      await http.expect(200, http.post("/sessions/dev:0.0/pane/select", {}));
    }
    expect(taken("right")).toBe("0123456789");
  });

  test("reaches the captor after a capture of the keyboard", async () => {
    await using all = await typist();
    const { http, person, warm, taken } = all;
    const before = taken("left") + (await warm());
    await http.expect(204, http.post("/sessions/dev/input/capture", { lease_ms: 60_000 }));
    person.type("k");
    const { keys } = await http.expect<{ keys: { raw: number[] }[] }>(
      200,
      http.get("/sessions/dev/input/keys?wait_ms=30000"),
    );
    expect(keys.map(({ raw }) => String.fromCharCode(...raw))).toEqual(["k"]);
    expect(taken("left")).toBe(before);
  });
});
