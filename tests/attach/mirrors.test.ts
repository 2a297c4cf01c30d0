/** A session that would show itself is not attached to, however many sessions are between. */
import { test } from "bun:test";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

const attach = (name: string, ...flags: readonly string[]) =>
  [...program, ...flags, "attach", "--nested", name].map((word) => `'${word}'`).join(" ");

/** Types a command into a session, through its API. */
async function types(wsh: Wsh, session: string, command: string): Promise<void> {
  await wsh.ok("send", session, command, "--enter");
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

test("a session does not show itself, nor by way of one or two others; the refusal names the chain", async () => {
  await using wsh = new Wsh();
  for (const name of ["one", "two", "three"]) {
    await wsh.session(name);
    await wsh.ok("exec", name, "--", `echo this is ${name}`);
  }
  await types(wsh, "one", attach("one"));
  await shows(wsh, "one", /nested_session|this terminal is in session 'one' already/);

  await types(wsh, "one", attach("two"));
  await shows(wsh, "one", /this is two/);
  await types(wsh, "two", attach("one"));
  await shows(wsh, "two", /session 'one' would show itself: 'one' shows 'two', this terminal is in 'two'/);

  await types(wsh, "two", attach("three"));
  await shows(wsh, "two", /this is three/);
  // A name that has changed since its programs were told it.
  await wsh.ok("rename", "one", "first");
  await types(wsh, "three", attach("first"));
  await shows(
    wsh,
    "three",
    /'first' would show itself: 'first' shows 'two', 'two' shows 'three', this terminal is in 'three'/,
  );

  // What shows nothing of it is no mirror.
  await wsh.session("four");
  await types(wsh, "four", attach("first"));
  await shows(wsh, "four", /this is three/);
});
