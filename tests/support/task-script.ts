/**
 * A scripted agent that does the twelve tasks of agent-tasks.ts with wsh's tools, as our skills teach it: its answers
 * come from the tools' results alone.
 */
import type { AgentTasks } from "./agent-tasks.ts";
import type { CountedCalls } from "./counted-calls.ts";

const SESSION = "work";
/** The installer's menu, from the top. */
const MENU = ["minimal", "standard", "full", "developer"];

/** Does all tasks; returns its answers in their order. */
export async function doTasks(calls: CountedCalls, directory: string, { given }: AgentTasks): Promise<string[]> {
  const { secret, port, timeout, edition, base } = given;
  const exec = (args: object) => calls.must("wsh_exec", args);
  const dialog = (input: string, steps: readonly object[], more: object = {}) =>
    calls.must("wsh_run_command", { session: SESSION, input, submit: true, steps, ...more });

  const tests = await exec({ command: "./run.sh", cwd: `${directory}/tests`, grep: "FAIL" });
  const job = await exec({ session: SESSION, create: true, command: `cd ${directory}; job/job.sh`, tail: 1 });
  const edited = await dialog("vim config/app.ini", [
    { expect: "fullscreen", input: `:%s/^timeout = .*/timeout = ${timeout}/\r:wq\r` },
    { expect: "prompt", input: "cat config/app.ini", submit: true },
  ]);
  const installed = await dialog("install/install.sh", [
    { expect: "licence?", input: "y", submit: true },
    { expect: "password", input: secret, submit: true },
    { expect: "Choose an edition", keys: [...MENU.slice(0, MENU.indexOf(edition)).map(() => "Down"), "Enter"] },
  ]);
  const until = [{ type: "port", port }];
  await exec({ session: SESSION, command: `server/serve.py ${port}`, background: true, until, output: "none" });
  const fetched = await exec({ command: `curl -s http://127.0.0.1:${port}/` });
  await calls.must("wsh_run_command", { session: SESSION, keys: ["Ctrl+C"], output_limit: 0 });
  const builds = await exec({
    mode: "parallel",
    cwd: `${directory}/build`,
    steps: ["alpha", "beta", "gamma"].map((name) => ({ name, command: `./build.sh ${name}`, tail: 1 })),
  });
  const power = await dialog("python3 -q", [
    { expect: ">>> ", input: `def f(n):\r  return ${base} ** n\r\r` },
    { expect: ">>> ", input: "f(21)", submit: true },
    { expect: ">>> ", input: "exit()", submit: true },
  ]);
  const rebased = await dialog("cd repo; git -c core.editor=vim rebase -i HEAD~3; git log --format=%s", [
    { expect: "fullscreen", input: ":%s/^pick \\(.*fix typo\\)/fixup \\1/\r:wq\r" },
  ]);
  const lost = await exec({ command: `${directory}/log/show.sh`, grep: "ERROR", context: 1 });
  const digest = await exec({ command: `${directory}/fetch/fetch.sh`, grep: "digest" });
  const inner = await dialog("../nested/enter.sh", [
    { expect: "prompt", input: "echo $INNER; (exit 7); echo $?", submit: true },
    { expect: "prompt", input: "exit", submit: true },
  ]);
  const stopped = await dialog("../loop/loop.sh", [{ expect: "working 20", keys: ["Ctrl+C"] }], { output_limit: 80 });
  await calls.must("wsh_manage_session", { session: SESSION, action: "kill" });

  const failed = builds.steps.find((step: { exit_code: number }) => step.exit_code !== 0);
  return [
    `${tests.output}; exit code ${tests.exit_code}`,
    edited.output,
    installed.output,
    fetched.output,
    `${failed.name} failed with ${failed.exit_code}: ${failed.output}`,
    power.output,
    job.output,
    rebased.output,
    lost.output,
    digest.output,
    inner.output,
    `${stopped.output}; exit code ${stopped.exit_code}`,
  ];
}
