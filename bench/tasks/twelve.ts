/** The twelve tasks of tests/support/agent-tasks.ts, as steps that any tool can take. */
import fs from "node:fs";
import { join } from "node:path";
import { makeTasks } from "../../tests/support/agent-tasks.ts";
import type { Step, Task } from "./sixteen.ts";

/** How long the long job takes, in seconds: waiting costs no text. */
const JOB_S = 2;
/** The same files in every run. */
const SEED = 1;

/** Writes the tasks' files. @param port a free TCP port */
export function twelveAsSteps(dir: string, port: number): readonly Task[] {
  const { facts, given } = makeTasks(dir, { seed: SEED, port, jobSeconds: JOB_S });
  const { secret, timeout, edition, base } = given;
  const file = (name: string, text: string): void => fs.writeFileSync(join(dir, name), text, { mode: 0o755 });
  file("tests.sh", "cd tests; ./run.sh | grep FAIL; echo code $PIPESTATUS\n");
  file("edit.sh", "vim config/app.ini; cat config/app.ini\n");
  file("serve.sh", `python3 server/serve.py ${port} & sleep 4; curl -s 127.0.0.1:${port}; kill %1; echo over\n`);
  file(
    "build.sh",
    "cd build; for p in alpha beta gamma; do (./build.sh $p >$p.log 2>&1; echo $p code $? >>codes) & done; wait; grep error *.log; grep -v 'code 0' codes\n",
  );
  file(
    "rebase.sh",
    "cd repo; GIT_EDITOR=vim git rebase -i HEAD~3; git log --format='subject: %s' | tr '\\n' ' '; echo\n",
  );
  file("log.sh", "log/show.sh | grep -B1 -A1 ERROR | tr '\\n' ' '; echo\n");
  file("loop.sh", "loop/loop.sh; echo code $?\n");
  const menu = ["minimal", "standard", "full", "developer"].indexOf(edition);
  const tasks: readonly (Pick<Task, "name" | "command" | "needs"> & { readonly steps: readonly Step[] })[] = [
    { name: "2,000 tests", command: "bash tests.sh", steps: [{ find: "FAIL .*" }, { find: "code [0-9]+" }] },
    {
      ...{ name: "vim", command: "bash edit.sh", needs: "vim" },
      steps: [{ see: "retries", type: `:%s/= 30/= ${timeout}/\n:wq\n` }, { find: `^timeout = ${timeout}` }],
    },
    {
      ...{ name: "an installer", command: "install/install.sh" },
      steps: [
        { see: "licence", type: "y\n" },
        { see: "token", type: `${secret}\n` },
        { see: "Enter takes it", keys: [...Array<string>(menu).fill("Down"), "Enter"] },
        { find: "serial [0-9]+" },
      ],
    },
    { name: "a server", command: "bash serve.sh", needs: "curl", steps: [{ find: "^[a-z]{8}$" }, { see: "over" }] },
    { name: "three builds", command: "bash build.sh", steps: [{ find: "error: .*" }, { find: "[a-z]+ code [1-9]" }] },
    {
      ...{ name: "a function in python", command: "python3 -q", needs: "python3" },
      steps: [
        { see: ">>>", type: `def f(n):\n    return ${base} ** n\n\nf(21)\n` },
        { find: "^[0-9]{12,}", type: "exit()\n" },
      ],
    },
    { name: "a long job", command: "job/job.sh", steps: [{ find: "checksum [0-9]+" }] },
    {
      ...{ name: "git rebase -i", command: "bash rebase.sh", needs: "vim" },
      steps: [{ see: "fix typo", type: ":%s/^pick \\(.*fix typo\\)/fixup \\1/\n:wq\n" }, { find: "subject: .*" }],
    },
    { name: "a line of 60,000", command: "bash log.sh", steps: [{ find: ".*ERROR.*" }] },
    { name: "binary output", command: "fetch/fetch.sh", steps: [{ find: "digest [a-z]+" }] },
    {
      ...{ name: "a shell in a shell", command: "nested/enter.sh" },
      steps: [
        { see: "entering", type: "echo in=$INNER; (exit 7); echo code=$?\n" },
        { find: "^in=[a-z]+" },
        { find: "^code=[0-9]+", type: "exit\n" },
      ],
    },
    {
      ...{ name: "Ctrl+C", command: "bash loop.sh" },
      steps: [{ see: "working 20", keys: ["Ctrl+C"] }, { find: "stopped, code [0-9]+" }, { find: "^code [0-9]+" }],
    },
  ];
  return tasks.map((task, n) => ({ ...task, fact: (facts[n] ?? []).map((fact) => `(?=[^]*${fact})`).join("") }));
}
