/** People and calls type while exec runs: no input joins its command, and no input is lost. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { contentOf } from "../support/content-of.ts";
import { failure, Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const isFull = process.env.WSH_TEST_FULL === "1";
/** Tries of the property for each shell. */
const TRIES = isFull ? 300 : 8;
setDefaultTimeout(isFull ? 300_000 : 60_000);
const shells = ["bash", "zsh", "fish"].filter((shell) => !isMissing(shell));

const wsh = shared(new Wsh({}));
const http = new Http({ unix: wsh.instance.httpSocket });

const exec = (session: string, command: string, fields: object = {}) =>
  http.post(`/sessions/${session}/exec`, { command, ...fields });

for (const shell of shells) {
  describe(shell, () => {
    /** The cases that leave their line empty. */
    let api: SessionApi;
    beforeAll(async () => {
      api = await SessionApi.shell(http, shell, { shell });
    });

    test("a line with content is never run, wherever its cursor is", async () => {
      await api.type("echo half");
      await api.press("Ctrl+A");
      const refused = await exec(api.name, "echo clean");
      expect(refused).toMatchObject({ status: 409, body: failure("prompt_not_empty", /echo half/) });
      const cleared = await exec(api.name, "echo clean", { clear_line: true });
      expect(cleared).toMatchObject({ status: 200, body: { output: "clean", exit_code: 0 } });
    });

    test("a line that was typed and erased is empty", async () => {
      await api.type("abc");
      await api.press("Backspace", "Backspace", "Backspace");
      expect(await api.exec("echo a")).toMatchObject({ output: "a", exit_code: 0 });
      // Before its prompt is drawn, Ctrl+C would end the drawing in fish (docs/shells.md, Known limits).
      await api.until("prompt");
      await api.press("Ctrl+C");
      await until("the prompt after Ctrl+C", async () => (await exec(api.name, "echo b")).status === 200);
    });

    test("a command does not run into a command, a search or a list that was begun", async () => {
      await api.type("for i in 1 2\r");
      await until("the second line", async () => (await exec(api.name, "echo no")).status === 409);
      expect(await api.exec("echo out", { clear_line: true })).toMatchObject({ output: "out", exit_code: 0 });
      await api.press("Ctrl+R");
      await api.type("out");
      expect((await exec(api.name, "echo no")).status).toBe(409);
      expect(await api.exec("echo over", { clear_line: true })).toMatchObject({ output: "over", exit_code: 0 });
    });

    test("in vi's command mode", async () => {
      const api = await SessionApi.shell(http, `${shell}-vi`, { shell });
      await api.exec({ bash: "set -o vi", zsh: "bindkey -v" }[shell] ?? "fish_vi_key_bindings");
      await api.press("Escape");
      expect(await api.exec("echo one; echo two")).toMatchObject({ output: "one\ntwo", exit_code: 0 });
    });

    test("input during a command is at the next prompt, complete", async () => {
      const { command_id } = await api.exec("sleep 0.3", { background: true });
      await api.type("echo ah");
      await api.until("command_finished", { command_id });
      expect((await exec(api.name, "echo no")).status).toBe(409);
      await api.type("ead\r");
      await until("the line to run", async () => (await http.screen(api.name)).lines.includes("ahead"));
      expect(await api.exec("echo after")).toMatchObject({ output: "after", exit_code: 0 });
    });

    test("at any timing of input, no two lines run as one and each runs once", async () => {
      const api = await SessionApi.shell(http, `${shell}-property`, { shell });
      const log = join(wsh.dir, `${shell}.log`);
      const seed = Number(process.env.WSH_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
      const random = randomOf(seed);
      const typed: string[] = [];
      const ran: string[] = [];
      const refused: string[] = [];
      const typeSlowly = async (line: string): Promise<void> => {
        for (let at = 0; at < line.length; ) {
          const size = 1 + Math.floor(random() * 12);
          await api.type(line.slice(at, at + size));
          at += size;
          if (random() < 0.4) await Bun.sleep(random() * 6);
        }
      };
      for (let n = 0; n < TRIES; n++) {
        const [before, person] = [`E${n}`, `T${n}`];
        const typing = (async () => {
          await Bun.sleep(random() * 12);
          typed.push(person);
          await typeSlowly(`echo ${person} >> ${log}\r`);
        })();
        for (let at = 0; at < 3; at++) {
          const name = `${before}.${at}`;
          const command = random() < 0.3 ? `sleep 0.00${Math.floor(random() * 9)}; ` : "";
          const { status, body } = await exec(api.name, `${command}echo ${name} >> ${log}`);
          if (status === 200) {
            expect({ seed, body }).toMatchObject({ body: { state: "finished", exit_code: 0 } });
            ran.push(name);
          } else refused.push(name);
        }
        await typing;
        await until("the typed line to run", async () => {
          return contentOf(log).split("\n").includes(person);
        });
      }
      const lines = readFileSync(log, "utf8").trimEnd().split("\n");
      const what = `seed ${seed}: ${ran.length} ran, ${refused.length} refused`;
      if (isFull) console.error(`${shell}: ${what}`);
      expect(
        lines.filter((line) => line.startsWith("T")),
        what,
      ).toEqual(typed);
      expect(
        lines.filter((line) => line.startsWith("E")),
        what,
      ).toEqual(ran);
      expect(lines.length, what).toBe(typed.length + ran.length);
    });
  });
}

/** A small generator (mulberry32), so that a failure can be repeated. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
