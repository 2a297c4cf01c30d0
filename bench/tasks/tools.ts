/** A task's steps with each tool, as its own documents advise; text written and read by the model counts. */
import fs from "node:fs";
import { join } from "node:path";
import { McpLines } from "../mcp-lines.ts";
import type { Stage } from "../stage.ts";
import type { Step, Task } from "./sixteen.ts";

export interface Used {
  readonly calls: number;
  /** Characters that a model writes and reads. */
  readonly characters: number;
  readonly isRight: boolean;
}

export type Tool = (stage: Stage, dir: string, task: Task) => Promise<Used>;

const PEER_WAIT_MS = 3_000;

function used(task: Task, calls: number, written: string, seen: string): Used {
  return { calls, characters: written.length + seen.length, isRight: new RegExp(task.fact).test(seen) };
}

/** One program of the tool `wsh_script`. */
export const byScript: Tool = async (stage, dir, task) => {
  const steps = task.steps.map(({ see, find, type, keys, beside }) =>
    [
      ...(see === undefined
        ? []
        : [`${type?.includes("$code") ? "const [, code] = " : ""}await t.expect(/${see.replaceAll("/", "\\/")}/)`]),
      ...(find === undefined ? [] : [`print(await t.expect(/${find.replaceAll("/", "\\/")}/))`]),
      ...(beside === undefined
        ? []
        : [`await (await wsh.open(${JSON.stringify({ cwd: dir })})).exec(${JSON.stringify(beside)})`]),
      ...(type === undefined
        ? []
        : [`await t.type(${type.includes("$code") ? 'code + "\\n"' : JSON.stringify(type)})`]),
      ...(keys === undefined ? [] : [`await t.press(${keys.map((key) => JSON.stringify(key)).join()})`]),
    ].join("; "),
  );
  const open = `const t = await wsh.open(${JSON.stringify({ cwd: dir, shell: "bash" })})`;
  const code = [open, `await t.run(${JSON.stringify(task.command)})`, ...steps].join("\n");
  using lines = new McpLines(stage);
  await lines.initialize();
  const { text } = await lines.text("wsh_script", { code, max_wait_ms: 60_000 });
  return used(task, 1, code, text);
};

const tmuxKeys: Readonly<Record<string, string>> = { "Ctrl+C": "C-c", "Ctrl+Z": "C-z" };

/** One script of tmux, sleep and grep, from a shell tool. */
export const byTmux: Tool = async (stage, dir, task) => {
  // A server of its own: one that ends may still hold the name of the last.
  const tmux = "tmux -L tasks$$ -f /dev/null";
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const send = (text: string): string[] =>
    text
      .split("\n")
      .flatMap((line, at, all) => [
        ...(line === "" ? [] : [`s -l -- ${line === "$code" ? '"$code"' : quoted(line)}`]),
        ...(at < all.length - 1 ? ["s Enter"] : []),
      ]);
  // Overwritten text is only in the raw bytes, so the pane is piped to a file beforehand.
  const text = task.isOverwritten === true ? "tr '\\r' '\\n' < log" : `${tmux} capture-pane -pJ -S -3000 -t t`;
  const script = [
    `${tmux} new-session -d -s t -x 80 -y 24 -c ${quoted(dir)} bash --norc; cd ${quoted(dir)}`,
    ...(task.isOverwritten === true ? [`${tmux} pipe-pane -t t "cat > $PWD/log"; sleep 0.3`] : []),
    `s() { ${tmux} send-keys -t t "$@"; }`,
    `w() { for i in $(seq 150); do ${text} | grep -qE -- "$1" && return; sleep 0.1; done; echo "not seen: $1"; ${tmux} capture-pane -p -t t; ${tmux} kill-server; exit; }`,
    "sleep 0.3",
    ...send(`${task.command}\n`),
    ...task.steps.flatMap(({ see, find, type, keys, beside }: Step) => [
      ...(see === undefined ? [] : [`w ${quoted(see)}`]),
      ...(see !== undefined && type?.includes("$code")
        ? [`code=$(${text} | grep -oE 'Code [0-9]+' | tail -1 | grep -oE '[0-9]+')`]
        : []),
      ...(find === undefined ? [] : [`w ${quoted(find)}; ${text} | grep -oE -- ${quoted(find)} | tail -1`]),
      ...(beside === undefined ? [] : [beside]),
      ...(type === undefined ? [] : send(type)),
      ...(keys === undefined ? [] : [`sleep 0.3; s ${keys.map((key) => tmuxKeys[key] ?? key).join(" ")}`]),
    ]),
    `${tmux} kill-server`,
  ].join("\n");
  const child = Bun.spawn(["bash", "-c", script], {
    ...{ cwd: stage.dir, env: { ...stage.env, TMUX_TMPDIR: stage.dir }, stdin: "ignore" },
    ...{ stdout: "pipe", stderr: "pipe" },
  });
  const seen = (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
  return used(task, 1, script, seen);
};

const bytes: Readonly<Record<string, string>> = {
  ...{ "Ctrl+C": "\x03", "Ctrl+Z": "\x1a", Down: "\x1b[B", Enter: "\r", Space: " ", Tab: "\t" },
};

/** DesktopCommander: one call for each input; the answer is the output since the last one. */
export function byDesktopCommander(program: string): Tool {
  return async (stage, dir, task) => {
    using lines = new McpLines(stage, [program, "--no-onboarding"]);
    await lines.initialize();
    let [calls, written, seen] = [0, "", ""];
    const call = async (name: string, args: object): Promise<string> => {
      calls++;
      written += JSON.stringify(args);
      const { text } = await lines.text(name, args);
      seen += `${text}\n`;
      return text;
    };
    fs.rmSync(join(dir, "news"), { force: true });
    const first = await call("start_process", { command: `cd ${dir} && ${task.command}`, timeout_ms: PEER_WAIT_MS });
    const pid = Number(/PID:? (\d+)/i.exec(first)?.[1] ?? 0);
    for (const { type, keys, beside } of task.steps) {
      if (beside !== undefined)
        await call("start_process", { command: `cd ${dir} && ${beside}`, timeout_ms: PEER_WAIT_MS });
      const code = seen.match(/Code (\d+)/)?.[1] ?? "";
      // The tool ends every input with Enter itself.
      const input = type?.replace("$code", code).replace(/\n$/, "") ?? keys?.map((key) => bytes[key] ?? key).join("");
      if (input === undefined || seen.includes("finished execution")) continue;
      await call("interact_with_process", { pid, input, timeout_ms: PEER_WAIT_MS });
    }
    if (calls === 1 && !new RegExp(task.fact).test(seen))
      await call("read_process_output", { pid, timeout_ms: PEER_WAIT_MS });
    return used(task, calls, written, seen);
  };
}
