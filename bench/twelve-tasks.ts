/** The cost of twelve terminal tasks to a model: a scripted agent does them, and its answers are checked. */
import fs from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { makeTasks } from "../tests/support/agent-tasks.ts";
import { CountedCalls } from "../tests/support/counted-calls.ts";
import { doTasks } from "../tests/support/task-script.ts";
import type { Stage } from "./stage.ts";

/** How long the long job of the tasks takes, in seconds: waiting costs no text. */
const JOB_S = 2;
/** The same files in every run. */
const SEED = 1;

/** @returns calls, and characters that the model reads and writes. @throws Error when an answer is not right */
export async function twelveTasks(stage: Stage): Promise<{ readonly calls: number; readonly characters: number }> {
  const directory = join(stage.dir, "tasks");
  fs.mkdirSync(directory);
  const tasks = makeTasks(directory, { seed: SEED, port: freePort(), jobSeconds: JOB_S });
  const transport = new StdioClientTransport({
    command: stage.wsh,
    args: ["mcp"],
    env: { ...stage.env },
    cwd: stage.dir,
    stderr: "ignore",
  });
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  try {
    const counted = new CountedCalls(client);
    const answers = await doTasks(counted, directory, tasks);
    const wrong = tasks.facts.flatMap((facts, n) => facts.filter((fact) => !new RegExp(fact).test(answers[n] ?? "")));
    if (wrong.length > 0 || tasks.wrong().length > 0) throw new Error(`not right: ${[...wrong, ...tasks.wrong()]}`);
    return { calls: counted.calls.length, characters: counted.characters };
  } finally {
    await client.close();
  }
}

function freePort(): number {
  using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  return listener.port;
}
