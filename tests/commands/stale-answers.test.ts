/** Answers to terminal queries reach the program that asked, or none: never the shell's next prompt. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { firstCommandId } from "../../src/protocol/pane-numbers.ts";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);
const shells = ["bash", "zsh", "fish"] as const;
/** Printing a whole binary file takes a second of processor time in each shell. */
const full = process.env.WSH_TEST_FULL === "1";

/** Commands that query and end without reading. */
const askers: Readonly<Record<string, string>> = {
  "one query": "printf '\\033[c'",
  "every kind of query":
    "printf '\\033[c\\033[>c\\033[6n\\033[5n\\033[?6n\\033]11;?\\007\\033[>q\\033P$qm\\033\\\\\\033[18t'",
  "a thousand queries": "i=; printf '\\033[c%.0s' $(seq 1000)",
  "a binary file": full ? "cat /bin/bash" : "head -c 300000 /bin/bash",
};

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

for (const shell of shells) {
  describe.skipIf(isMissing(shell))(`in ${shell}`, () => {
    let api: SessionApi;
    beforeAll(async () => {
      api = await SessionApi.shell(http, `asked-${shell}`, { shell });
    });

    for (const [what, command] of Object.entries(askers)) {
      test(`after ${what} the prompt is empty, and the next command is unchanged`, async () => {
        expect(
          await api.exec(shell === "fish" ? command.replace("i=; ", "").replace("$(seq", "(seq") : command),
        ).toMatchObject({ state: "finished" });
        const next = await api.exec("cd /tmp; echo in $PWD");
        expect(next).toMatchObject({ state: "finished", exit_code: 0, output: "in /tmp" });
      });
    }

    test("a reading program gets every answer, at once and in order", async () => {
      const script = `stty raw -echo; printf '\\033[5n\\033[c\\033[5n'; dd bs=1 count=15 2>/dev/null | od -An -c | tr -d ' \\n'; stty sane; echo`;
      const { output } = await api.exec(`sh -c "${script.replaceAll("\\", "\\\\")}"`);
      expect(String(output).trim()).toMatch(/^033\[0n033\[\?1;2c033\[0n$/);
    });

    test("a program that queries repeatedly does not wait long for an answer", async () => {
      const script = `stty raw -echo; for i in 1 2 3 4 5 6 7 8 9 10; do printf '\\033[5n'; dd bs=1 count=4 2>/dev/null >/dev/null; done; stty sane; echo done`;
      const asked = await api.exec(`sh -c "${script.replaceAll("\\", "\\\\")}"`);
      expect(asked).toMatchObject({ exit_code: 0, output: "done" });
    });
  });
}

test("a session whose program is not a shell is answered without a check", async () => {
  const { pane_id } = await http.create({
    name: "direct",
    command: "stty raw -echo; printf '\\033[5n'; dd bs=1 count=4 2>/dev/null | od -An -c",
  });
  const { output } = await http.expect<{ output: string }>(
    200,
    http
      .get(`/sessions/direct/commands/${firstCommandId(pane_id)}/output`)
      .then((answer) => ({ ...answer, body: { output: answer.text } })),
  );
  expect(typeof output).toBe("string");
  await http.shows("direct", /033\s+\[\s+0\s+n/);
});
