/** A person types at an attached terminal while execs run: the input arrives afterwards, complete and in order. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { contentOf } from "../support/content-of.ts";
import { failure, Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);
/** Time between two keys of a fast typist, in ms: less than the pause for which exec waits. */
const KEY_MS = 8;
/** Input during a command is echoed by the terminal, and the result warns of it. */
const ECHOED = /the output may contain its echo/;
/** Lines that the person types. */
const LINES = 4;

/** Effect of the echo on an output: before it, behind it, or between its text and its newline. */
function echoBeside(output: string, printed: string): string {
  expect(output.split(printed)).toHaveLength(2);
  return output.replace(printed, "").replaceAll("\n", "");
}

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

for (const shell of ["bash", "zsh", "fish"]) {
  test.skipIf(isMissing(shell))(`${shell}: no input is joined and none is lost`, async () => {
    const api = await SessionApi.shell(http, shell, { shell });
    const log = join(wsh.dir, `${shell}.log`);
    const logged = (): string[] => contentOf(log).trimEnd().split("\n");
    const exec = (command: string) => http.post(`/sessions/${api.name}/exec`, { command });
    await using terminal = await EmulatorTerminal.attach(wsh, api.name, { rows: 24, cols: 100, seen: /[#$%>] *$/m });
    const types = async (text: string): Promise<void> => {
      for (const key of text) {
        terminal.type(key);
        await Bun.sleep(KEY_MS);
      }
    };

    let isTyping = true;
    const ran: string[] = [];
    const whole = Array.from({ length: LINES }, (_, n) => `echo T${n}-whole >> ${log}`);
    /** A command that runs until `go` is made. */
    const held = (name: string, go: string) =>
      exec(`echo E${name} >> ${log}; sh -c 'until [ -e ${go} ]; do sleep 0.01; done'; echo out-${name}`);
    /** The answer of a command during which input came: its output with that echo, nothing else, and a warning. */
    const answers = async (running: ReturnType<typeof exec>, name: string, typed: string) => {
      const answer = await running;
      const warnings = [expect.stringMatching(ECHOED)];
      expect(answer).toMatchObject({ status: 200, body: { state: "finished", exit_code: 0, warnings } });
      const { output } = answer.body as { output: string };
      expect(typed).toContain(echoBeside(output, `out-${name}`));
    };
    const first = held("0", `${log}.go`);
    await until("the first exec to run", () => logged().includes("E0"));
    const typing = (async () => {
      for (const line of whole) await types(`${line}\r`);
      isTyping = false;
    })();
    await http.shows(api.name, "echo T0");
    writeFileSync(`${log}.go`, "");
    await answers(first, "0", whole.join(""));
    for (let n = 1; isTyping || ran.length === 0; n++) {
      const answer = await exec(`echo E${n} >> ${log}; sleep 0.0${n % 10}; echo out-${n}`);
      if (answer.status === 200) {
        if (ECHOED.test(JSON.stringify(answer.body))) await answers(Promise.resolve(answer), String(n), whole.join(""));
        else expect(answer.body).toMatchObject({ state: "finished", exit_code: 0, output: `out-${n}` });
        ran.push(`E${n}`);
      } else expect(answer).toMatchObject({ status: 409 });
    }
    await typing;
    const typed = Array.from({ length: LINES }, (_, n) => `T${n}-whole`);
    await until("the last typed line to run", () => logged().includes(typed.at(-1) ?? ""));
    expect(logged().filter((line) => line.startsWith("T"))).toEqual(typed);
    expect(logged().filter((line) => !line.startsWith("T"))).toEqual(["E0", ...ran]);

    // Half a line is at the next prompt and is finished there.
    const last = held("-last", `${log}.last`);
    await until("the last exec to run", () => logged().includes("E-last"));
    await types("echo half");
    await http.shows(api.name, (screen) => screen.lines.some((line) => line.startsWith("echo half")));
    writeFileSync(`${log}.last`, "");
    await answers(last, "-last", "echo half");
    expect(await exec("echo no")).toMatchObject({ status: 409, body: failure("prompt_not_empty", /echo half/) });
    await types(`-done >> ${log}\r`);
    await until("the line to run", () => logged().at(-1) === "half-done");
    await api.until("prompt");
    expect(await api.exec("echo after")).toMatchObject({ output: "after", exit_code: 0 });
  });
}
