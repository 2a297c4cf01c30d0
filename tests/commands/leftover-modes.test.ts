/** Modes that a program leaves on the terminal do not change the output of the next command. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);
const shells = ["bash", "zsh", "fish"] as const;

/** Sequences that are not undone, each tested alone. */
const leftovers: Readonly<Record<string, string>> = {
  "the alternate screen": "\\033[?1049h\\033[2J\\033[5;9Hfull",
  "the alternate screen without a saved cursor": "\\033[?47h\\033[H",
  "a scroll region": "\\033[3;8r",
  "origin mode in a scroll region": "\\033[4;6r\\033[?6h",
  "line drawing": "\\033(0",
  "a shift to line drawing": "\\033)0\\016",
  "no wrapping": "\\033[?7l",
  "insert mode": "\\033[4h",
  "line feeds that return": "\\033[20h",
  "mouse reports": "\\033[?1003h\\033[?1006h",
  "focus and colour scheme reports": "\\033[?1004h\\033[?2031h",
  "bracketed paste": "\\033[?2004h",
  "keys of another kind": "\\033[?1h\\033=\\033[>4;2m",
  "kitty's keyboard": "\\033[>31u\\033[>15u",
  "a hidden cursor": "\\033[?25l",
  "colours and a link": "\\033[1;31;44m\\033]8;;http://x.example\\033\\\\",
  "a synchronized update": "\\033[?2026h",
  "reverse video": "\\033[?5h",
};

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

for (const shell of shells) {
  describe.skipIf(isMissing(shell))(`after a command in ${shell} that left`, () => {
    let api: SessionApi;
    let atPrompt: Record<string, boolean>;
    /** The state is `prompt` before the editor that reads there has set its modes. */
    const modes = () =>
      until("the editor's modes", async (): Promise<Record<string, boolean> | null> => {
        const { state, modes } = await api.status();
        return state === "prompt" && modes.bracketed_paste ? modes : null;
      });
    beforeAll(async () => {
      api = await SessionApi.shell(http, `left-${shell}`, { shell });
      await api.exec("true");
      atPrompt = await modes();
    });

    for (const [what, bytes] of Object.entries(leftovers)) {
      test(`${what}, the next one is shown in full`, async () => {
        const left = await api.exec(`printf '${bytes}'`);
        expect(left).toMatchObject({ state: "finished", exit_code: 0 });
        const next = await api.exec("seq 100; printf 'lqk%s\\n' \"$(printf '%090d' 7)\"");
        const wanted = [...Array.from({ length: 100 }, (_, n) => `${n + 1}`), `lqk${"0".repeat(89)}7`];
        expect(next).toMatchObject({ output: wanted.join("\n"), exit_code: 0 });
        expect(next.warnings).toBeUndefined();
        await until("the prompt's modes", async () => Bun.deepEquals(await modes(), atPrompt)).catch(() => {});
        expect(await modes()).toEqual(atPrompt);
      });
    }

    test("after a killed program the screen is marked, and shows later output", async () => {
      const killed = await api.exec(
        "bash -c 'printf \"before\\n\\033[?1049h\\033[?1003h\\033[Hpager\"; kill -KILL $$'; echo after",
      );
      expect(killed.output).toStartWith("before");
      expect(killed.warnings?.join()).toContain("alternate screen");
      expect(await api.exec("echo here")).toMatchObject({ output: "here", exit_code: 0 });
    });

    test("a scroll region in which lines were lost is reported by its output", async () => {
      const lost = await api.exec("printf '\\033[3;8r\\033[3;1H'; seq 100");
      expect(lost.warnings?.join()).toContain("scroll region");
      expect(await api.exec("seq 3")).toMatchObject({ output: "1\n2\n3" });
    });
  });
}

describe("earlier text on the screen is not part of a command's output", () => {
  const rows = "printf 'aaaaaaaaaa\\nbbbb 漢字 bb\\ncccccccccc\\ndddd\\neeee\\n\\033[H'";
  let api: SessionApi;
  beforeAll(async () => {
    api = await SessionApi.shell(http, "over-old", { shell: "bash" });
  });

  test("cell by cell, whatever overwrites it", async () => {
    const before = await api.exec(rows);
    expect(before.exit_code).toBe(0);
    expect(await api.exec("echo hi; echo; printf 'c\\n'; printf '\\tx\\n'")).toMatchObject({
      output: "hi\n\nc\n        x",
    });
    // The person still sees it.
    expect((await http.screen("over-old")).lines[1]).toBe("hiaaaaaaaa");
  });

  test("in styled output and by cursor too, and when the lines have left the screen", async () => {
    await api.exec(rows);
    const { command_id: id, output_cursor: cursor } = await api.exec("echo hi; printf 'a\\n'");
    expect(await api.output(`command_id=${id}&format=styled`)).toMatchObject({
      lines: [[{ text: "hi" }], [{ text: "a" }]],
    });
    await api.exec("seq 3000");
    expect((await api.output(`command_id=${id}&max_bytes=100`)).text).toBe("hi\na");
    expect(cursor).toBeGreaterThan(0);
    await api.exec(rows);
    const many = await api.exec("seq 20000", { output_limit: 400 });
    expect(many.output).toStartWith("1\n2\n3\n4\n5\n6\n");
    expect(many.output).toEndWith("\n20000");
  });
});

test("a setting keeps the modes that programs leave", async () => {
  await using own = new Wsh({ config: "reset_modes = false\n" });
  await own.server();
  const api = await SessionApi.shell(new Http({ unix: own.instance.httpSocket }), "left-alone", {});
  await api.exec("printf '\\033[?1003h\\033[?1049h'");
  expect((await api.status()).modes).toMatchObject({ alternate_screen: true });
  const blind = await api.exec("echo unseen");
  expect(blind.warnings?.join()).toContain("alternate screen");
});
