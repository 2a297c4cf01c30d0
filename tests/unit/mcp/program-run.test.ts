/** The terminals that a program opened for itself end with it, however it ends (src/mcp/script/program-run.ts). */
import { afterEach, expect, spyOn, test } from "bun:test";
import { ProgramRun } from "../../../src/mcp/script/program-run.ts";
import type { Ask } from "../../../src/mcp/tools/tool.ts";
import type { FromSandbox, ToSandbox } from "../../../src/protocol/sandbox.ts";

const spawn = spyOn(Bun, "spawn");
afterEach(() => void spawn.mockReset());

/** A program whose process is the test: `send` is what it sends, and `answered` resolves with its next answer. */
function programOf(ask: (name: string, session: string | undefined, signal: AbortSignal) => Promise<unknown>) {
  const stdout = new TransformStream<Uint8Array, Uint8Array>();
  const writer = stdout.writable.getWriter();
  let answer = Promise.withResolvers<void>();
  const stdin = {
    write: (line: string) => (JSON.parse(line) as ToSandbox).kind === "answer" && answer.resolve(),
    flush: () => {},
  };
  spawn.mockImplementation((() => ({ stdin, stdout: stdout.readable, kill: () => {} })) as never);
  const asker = (signal: AbortSignal) => ((name, _, session) => ask(name, session, signal)) as Ask;
  return {
    run: new ProgramRun({ code: "" }, asker),
    send: (message: FromSandbox) => writer.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`)),
    hangUp: () => writer.close(),
    answered: async () => {
      await answer.promise;
      answer = Promise.withResolvers();
    },
  };
}

const open = (id: number, name?: string): FromSandbox => ({
  kind: "call",
  id,
  operation: "sessions.create",
  input: name === undefined ? { name_prefix: "script-" } : { name },
});

for (const ending of ["stop", "hangUp"] as const) {
  test(`${ending}: its own open terminals are ended, not those with names`, async () => {
    const killed: unknown[] = [];
    let made = 0;
    const program = programOf(async (name, session, signal) => {
      if (name === "sessions.create") return { id: `@s${++made}`, pane_id: `@${made}` };
      killed.push([name, session, signal.aborted]);
      return { ended: [] };
    });
    for (const message of [open(1), open(2, "dev"), open(3)]) {
      void program.send(message);
      await program.answered();
    }
    void program.send({ kind: "call", id: 4, operation: "session.kill", input: {}, session: "@1" });
    await program.answered();
    if (ending === "stop") program.run.stop();
    else void program.hangUp();
    await program.run.finished;
    expect(killed).toEqual([
      ["session.kill", "@1", false],
      ["session.kill", "@s3", false],
    ]);
  });
}

test("a terminal that is made while the program ends is ended, too", async () => {
  const creating = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<string | undefined>();
  const program = programOf((name, session) => {
    if (name === "sessions.create") begun.resolve();
    else killed.resolve(session);
    return name === "sessions.create" ? creating.promise : Promise.resolve({ ended: [] });
  });
  void program.send(open(1));
  await begun.promise;
  program.run.stop();
  creating.resolve({ id: "@s1", pane_id: "@1" });
  expect(await killed.promise).toBe("@s1");
});
