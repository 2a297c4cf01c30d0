/** A session that would show itself cannot be attached to, however many sessions are between. */
import { expect, test } from "bun:test";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

const attach = (name: string, ...flags: readonly string[]) =>
  [...program, ...flags, "attach", "--nested", name].map((word) => `'${word}'`).join(" ");

/** Types a command into a session, through its API. */
async function types(wsh: Wsh, session: string, command: string): Promise<void> {
  await wsh.enter(session, command);
}

async function shows(wsh: Wsh, session: string, wanted: RegExp): Promise<string> {
  let screen = "";
  await until(`session ${session} to show ${wanted}`, async () => {
    // Lines of the screen as one: messages wrap.
    screen = (await wsh.screen(session)).replaceAll("\n", "");
    return wanted.test(screen);
  }).catch((error) => {
    throw new Error(`${error.message}; it shows: ${screen}`);
  });
  return screen;
}

test("a session cannot show itself, directly or through one or two others; the error names the chain", async () => {
  await using wsh = new Wsh();
  for (const name of ["one", "two", "three"]) {
    await wsh.session(name);
    await wsh.exec(name, `echo this is ${name}`);
  }
  await types(wsh, "one", attach("one"));
  await shows(wsh, "one", /nested_session|this terminal is already in session 'one'/);

  await types(wsh, "one", attach("two"));
  await shows(wsh, "one", /this is two/);
  await types(wsh, "two", attach("one"));
  await shows(wsh, "two", /session 'one' would show itself: 'one' shows 'two', this terminal is in 'two'/);

  await types(wsh, "two", attach("three"));
  await shows(wsh, "two", /this is three/);
  // A name that has changed since its programs got it in their environment.
  await wsh.ok("rename", "one", "first");
  await types(wsh, "three", attach("first"));
  await shows(
    wsh,
    "three",
    /'first' would show itself: 'first' shows 'two', 'two' shows 'three', this terminal is in 'three'/,
  );

  // A terminal that shows nothing of the session is not a mirror.
  await wsh.session("four");
  await types(wsh, "four", attach("first"));
  await shows(wsh, "four", /this is three/);
});

test("nor through a view, nor from one pane of several", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  for (const name of ["one", "two", "three"]) {
    await wsh.session(name);
    await wsh.ok("split", name, "--", "sleep 1000");
    await wsh.exec(name, `echo this is ${name}`);
  }
  await wsh.ok("split", "one", "--view", "two");
  const refused = {
    body: { error: { code: "nested_session", message: expect.stringContaining("'one' shows 'two'") } },
  };
  expect(await http.post("/sessions/two/panes", { view: "one" })).toMatchObject(refused);
  await types(wsh, "two", `clear; ${attach("three")}`);
  await until("the nested one", async () => (await wsh.list()).find(({ name }) => name === "three")?.attached === 1);
  expect(await http.post("/sessions/three/windows", { view: "one" })).toMatchObject({
    body: {
      error: {
        message: expect.stringContaining("'one' shows 'two', 'two' shows 'three', the view would be in 'three'"),
      },
    },
  });
});

test("a terminal in a session is not switched to one that shows that session", async () => {
  await using wsh = new Wsh();
  for (const name of ["one", "two", "three"]) {
    await wsh.session(name);
    await wsh.exec(name, `echo this is ${name}`);
  }
  // One terminal shows two, and the one in two shows three.
  await types(wsh, "one", attach("two"));
  await shows(wsh, "one", /this is two/);
  await using person = await EmulatorTerminal.attach(wsh, "two", { seen: /this is two/ });
  person.type(`clear; ${attach("three")} --prefix C-g\r`);
  await person.sees(/this is three/);
  person.type("\x07:");
  await person.sees("Command");
  person.type("view.go session=one\r");
  await person.sees(/'one' would show itself: 'one' shows 'two'/);
});
