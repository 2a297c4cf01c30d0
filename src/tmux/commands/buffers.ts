/** Commands on the paste buffers of wsh's instance. */
import type { OperationInput, OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { TmuxError } from "../error.ts";
import { isTrue } from "../formats/syntax.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { type Command, command } from "./command.ts";

/** Characters of a buffer that a list shows. */
const SAMPLE = 50;

export const bufferCommands: readonly Command[] = [
  command(
    "set-buffer setb",
    "ab:n:w",
    [0, 1],
    "[-aw] [-b buffer-name] [-n new-buffer-name] data",
    async (run, args) => {
      const [name, renamed, data] = [args.get("b"), args.get("n"), args.word(0)];
      if (renamed !== undefined) return rename(run, name, renamed);
      if (data === undefined) throw new TmuxError("no data specified");
      if (data !== "") await addBuffer(run, name, data, args.has("a"));
    },
  ),
  command("load-buffer loadb", "b:w", [1, 1], "[-b buffer-name] path", async (run, args) => {
    const data = await run.backend.readFile(args.word(0) ?? "");
    const text = new TextDecoder().decode(data);
    if (text !== "") await addBuffer(run, args.get("b"), text);
  }),
  command("save-buffer saveb", "ab:", [1, 1], "[-a] [-b buffer-name] path", async (run, args) => {
    const text = await textOf(run, args.get("b"));
    const path = args.word(0) ?? "";
    if (path === "-") return run.backend.print(text);
    await run.backend.writeFile(path, new TextEncoder().encode(text), args.has("a"));
  }),
  command("show-buffer showb", "b:", [0, 0], "[-b buffer-name]", async (run, args) =>
    run.backend.print(await textOf(run, args.get("b"))),
  ),
  command("delete-buffer deleteb", "b:", [0, 0], "[-b buffer-name]", async (run, args) => {
    const name = args.get("b");
    await onBuffer(
      run,
      "buffer.delete",
      { buffer: name },
      name === undefined ? "no buffer" : `unknown buffer: ${name}`,
    );
  }),
  command("list-buffers lsb", "F:f:", [0, 0], "[-F format] [-f filter]", listBuffers),
  command(
    "paste-buffer pasteb",
    "b:dprs:t:",
    [0, 0],
    "[-dpr] [-s separator] [-b buffer-name] [-t target-pane]",
    async (run, args) => {
      const { pane } = await run.place(args, "pane");
      const name = args.get("b");
      const buffer = await read(run, name);
      if (buffer === null) {
        if (name !== undefined) throw new TmuxError(`no buffer ${name}`);
        return;
      }
      const separator = args.get("s") ?? (args.has("r") ? "\n" : "\r");
      const data = buffer.text.replaceAll("\n", separator);
      await run.backend.call("input.send", { data, paste: args.has("p") }, pane.target);
      if (args.has("d")) await onBuffer(run, "buffer.delete", { buffer: buffer.name }, `no buffer ${buffer.name}`);
    },
  ),
];

async function listBuffers(run: Run, args: Arguments): Promise<void> {
  const template = args.get("F") ?? '#{buffer_name}: #{buffer_size} bytes: "#{buffer_sample}"';
  const filter = args.get("f");
  for (const { name, bytes, at } of await run.backend.call("buffer.list", {}, await anySession(run))) {
    const extra = {
      buffer_name: name,
      buffer_size: String(bytes),
      buffer_created: String(Math.floor(at / 1000)),
      buffer_sample: sampleOf((await read(run, name))?.text ?? ""),
    };
    if (filter !== undefined && !isTrue(await run.format(filter, {}, extra))) continue;
    await run.print(await run.format(template, {}, extra));
  }
}

function sampleOf(text: string): string {
  const shown = text.replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r").replace(/\x1b/g, "\\033");
  return shown.length > SAMPLE * 4 ? `${shown.slice(0, SAMPLE * 4)}...` : shown;
}

/** Returns any session: each sees all buffers of the instance. */
async function anySession(run: Run): Promise<string> {
  const { session } = (await run.targets()).find(undefined, "session");
  return session.target;
}

/** The newest buffer with an automatic name; null: there is none. */
export function newestBuffer(run: Run): Promise<OperationOutput<"buffer.get"> | null> {
  return read(run, undefined);
}

/** @param name undefined: the newest buffer with an automatic name; null: there is none */
async function read(run: Run, name: string | undefined): Promise<OperationOutput<"buffer.get"> | null> {
  try {
    return await run.backend.call("buffer.get", { buffer: name }, await anySession(run));
  } catch (thrown) {
    if (isUnknown(thrown)) return null;
    throw thrown;
  }
}

async function textOf(run: Run, name: string | undefined): Promise<string> {
  const buffer = await read(run, name);
  if (buffer === null) throw new TmuxError(name === undefined ? "no buffers" : `no buffer ${name}`);
  return buffer.text;
}

/** @param name undefined: an automatic name */
export async function addBuffer(run: Run, name: string | undefined, text: string, append = false): Promise<void> {
  await run.backend.call("buffer.set", { buffer: name, text, append }, await anySession(run));
}

async function rename(run: Run, name: string | undefined, renamed: string): Promise<void> {
  const missing = name === undefined ? "no buffer" : `unknown buffer: ${name}`;
  await onBuffer(run, "buffer.rename", { buffer: name, new_name: renamed }, missing);
}

async function onBuffer<N extends "buffer.delete" | "buffer.rename">(
  run: Run,
  operation: N,
  input: OperationInput<N>,
  missing: string,
): Promise<void> {
  await run.backend.call(operation, input, await anySession(run)).catch((thrown) => {
    throw isUnknown(thrown) ? new TmuxError(missing) : thrown;
  });
}

function isUnknown(thrown: unknown): boolean {
  return WshError.from(thrown).code === "buffer_not_found";
}
