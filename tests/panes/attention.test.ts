/** Events in windows out of view are marked in the status line, and people's terminals are notified, once. */
import { describe, expect, test } from "bun:test";
import { attentionFor, type NewsKind, newsKinds } from "../../src/protocol/attention.ts";
import type { Viewer } from "../../src/session/viewers.ts";
import { Attention } from "../../src/viewer/status/attention.ts";
import { Http } from "../support/http.ts";
import { personAt } from "../support/person.ts";
import type { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

const PREFIX = "\x1c";
const lastRow = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";
const shows = (person: EmulatorTerminal, wanted: RegExp): Promise<unknown> =>
  until(`the line to show ${wanted}`, async () => wanted.test(lastRow(await person.text())));
/** BEL bytes that do not end another sequence. */
const bells = ({ bytes }: EmulatorTerminal): number =>
  bytes.replace(/\x1b\][^\x07\x1b]*\x07/g, "").split("\x07").length - 1;

describe("an attached terminal", () => {
  test("rings once for a bell in another window, until the person has visited it", async () => {
    await using all = await personAt({ status: "auto" });
    const { person, wsh } = all;
    person.type(`${PREFIX}c`);
    await shows(person, / 0:\S+ 1:\S+\*/);
    person.forgetBytes();
    await wsh.enter("dev:0", "printf '\\a'");
    await shows(person, / 0:\S+!/);
    await until("the bell", () => bells(person) === 1);
    await wsh.exec("dev:0", "printf '\\a'; echo again");
    person.type("echo meanwhile\r");
    await person.sees(/^meanwhile$/m);
    expect(bells(person)).toBe(1);
    person.type(`${PREFIX}0`);
    await shows(person, / 0:[^ !]+\* 1:\S+/);
    person.type(`${PREFIX}1`);
    await shows(person, / 0:\S+ 1:\S+\*/);
    await wsh.enter("dev:0", "printf '\\a'");
    await until("another bell", () => bells(person) === 2);
  });

  test("is notified of the end of a long command, its result and place; failures here are shown in the status line", async () => {
    const config = 'alert = "osc777"\nalert_for = ["bell", "finished"]\nlong_command_seconds = 1\n';
    await using all = await personAt({ status: "auto", config });
    const { person, wsh } = all;
    person.type(`${PREFIX}c`);
    await shows(person, / 0:\S+ 1:\S+\*/);
    await wsh.enter("dev:0", "bash -c 'sleep 1.5; exit 3'");
    await shows(person, / 0:\S+\+/);
    const said = /\x1b\]777;notify;wsh dev;'\w+' exited with exit code 3 after \d s in window 0\x1b\\/;
    await until("the notification", () => said.test(person.bytes));
    expect(lastRow(await person.text())).not.toContain("exit 3");
    person.type(`${PREFIX}0`);
    await shows(person, / exit 3( |$)/);
    person.type("true\r");
    await until("nothing failed", async () => !lastRow(await person.text()).includes("exit"));
    expect(person.bytes.match(/777;notify/g)).toHaveLength(1);
  });

  test("shows a caller that types, while it does", async () => {
    await using all = await personAt({ status: "auto" });
    const { person, wsh } = all;
    person.type(`${PREFIX}%`);
    await shows(person, /^ dev /);
    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    // It is displayed for a few seconds, from the call on: the answer may come later.
    const typed = http.post("/sessions/dev:0.1/input", { data: "echo by a call\r" });
    await shows(person, / an HTTP client types? in 1 |an HTTP client…? types in 1/).catch(async (error) => {
      throw new Error(`${error.message} ${JSON.stringify((await typed).body)}`);
    });
    await typed;
    await until("nobody types", async () => !lastRow(await person.text()).includes("types"));
  });
});

describe("news", () => {
  interface Fake {
    looks: boolean;
    rings: boolean;
    seenAt: number;
  }
  function viewer(fake: Fake) {
    const heard: string[] = [];
    const each = {
      focus: {
        isWatched: true,
        looksAt: () => fake.looks,
        ringsFor: () => fake.rings,
        lastSeenAt: () => fake.seenAt,
        lastKey: null,
      },
      alert: (text: string) => void heard.push(text),
    } as Partial<Viewer> as Viewer;
    return { each, heard };
  }
  const away = (): Fake => ({ looks: false, rings: false, seenAt: Number.NEGATIVE_INFINITY });

  function scene(fakes: readonly Fake[], kinds: readonly NewsKind[] = newsKinds) {
    const viewers = fakes.map(viewer);
    const port = {
      alertMode: () => "osc9",
      isEnabled: (kind: NewsKind) => kinds.includes(kind),
      name: () => "dev",
      viewers: () => viewers.map(({ each }) => each),
    };
    return { attention: new Attention(port as ConstructorParameters<typeof Attention>[0]), viewers };
  }

  test("goes to every terminal that does not view the pane, once until somebody has visited it", () => {
    const here = { ...away(), looks: true };
    const other = away();
    const { attention, viewers } = scene([here, other, away()]);
    attention.notify("activity", "@1", "output after silence");
    attention.notify("activity", "@1", "output after silence");
    attention.notify("finished", "@1", "'make' has ended");
    expect(viewers.map(({ heard }) => heard.length)).toEqual([0, 2, 2]);
    expect(viewers[1]?.heard).toEqual([
      "\x1b]9;wsh dev: output after silence\x1b\\",
      "\x1b]9;wsh dev: 'make' has ended\x1b\\",
    ]);
    other.seenAt = performance.now() + 1;
    attention.notify("activity", "@1", "output after silence");
    expect(viewers.map(({ heard }) => heard.length)).toEqual([0, 3, 3]);
  });

  test("a bell that a terminal rings itself is not repeated; without a setting nobody is notified", () => {
    const { attention, viewers } = scene([{ ...away(), rings: true }, away()], ["bell"]);
    attention.notify("bell", "@1", "a bell");
    attention.notify("activity", "@1", "output");
    expect(viewers.map(({ heard }) => heard.length)).toEqual([0, 1]);
  });

  test("is text, whatever the name of the program", () => {
    expect(attentionFor("osc777", "dev", "'a;b\x1b]0;x\x07' has ended")).toMatch(
      /^\x1b\]777;notify;wsh dev;'a,b ?\]0,x ?' has ended\x1b\\$/,
    );
    expect(attentionFor("bell", "dev", "x")).toBe("\x07");
    expect(attentionFor("off", "dev", "x")).toBe("");
  });
});
