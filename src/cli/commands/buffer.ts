/**
 * `wsh buffer`: the paste buffers of the instance. Inside a session and with --session, that session's process handles
 * the call (a private session has its own buffers); elsewhere this process reads and writes the files directly, without
 * a server or session.
 */
import fs from "node:fs";
import type { Command } from "commander";
import * as v from "valibot";
import { errorCode } from "../../base/errno.ts";
import { BufferFiles } from "../../instance/buffer-files.ts";
import type { Instance } from "../../instance/paths.ts";
import type { OperationInput, OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { visible } from "../../protocol/harmless-text.ts";
import { ownerOf, requireNoAgent } from "../../protocol/owner.ts";
import { BufferNameSchema, MAX_PASTE_BYTES } from "../../protocol/paste.ts";
import { plural } from "../../protocol/plural.ts";
import { PasteBuffers } from "../../session/paste-buffers.ts";
import { requireOptions, UsageError } from "../arguments.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { print, printJson, printText, table } from "../print.ts";
import { cliCaller, SessionClient } from "../session/client.ts";
import { paneAround } from "../session/surrounding-session.ts";

type BufferOperation = "buffer.list" | "buffer.get" | "buffer.set" | "buffer.rename" | "buffer.delete";
type Call = <N extends BufferOperation>(name: N, input: OperationInput<N>) => Promise<OperationOutput<N>>;

interface Flags {
  readonly session?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const buffer = program
    .command("buffer")
    .description(
      "The paste buffers of the instance: texts copied in copy mode, by programs and by these commands. All sessions " +
        "see them; at most 50 are kept. Without a name: the newest copy.",
    );
  const add = (usage: string, description: string): Command =>
    buffer.command(usage).description(description).option("--session <name>", "as this session sees them");
  add("list", "List the paste buffers, newest first.")
    .option("--json", "print the list as JSON")
    .action(async (flags: Flags, command: Command) => {
      const listed = await withCall(command, flags, (call) => call("buffer.list", {}));
      if (flags.json === true) return printJson(listed);
      const rows = listed.map(({ name, bytes, at, begins }) => {
        return [name, String(bytes), new Date(at).toLocaleTimeString("en-GB"), visible(begins)];
      });
      return print(table([["NAME", "BYTES", "AT", "TEXT"], ...rows]));
    });
  add("show [name]", "Print a paste buffer.")
    .option("--json", "print the buffer as JSON")
    .action(async (name: string | undefined, flags: Flags, command: Command) => {
      const buffer = await withCall(command, flags, (call) => call("buffer.get", { buffer: bufferName(name) }));
      return flags.json === true ? printJson(buffer) : print(buffer.text);
    });
  add("set [text]", "Store a text (default: standard input).")
    .option("-n, --name <name>", "its name; replaces the buffer of that name (default: automatic)")
    .option("-a, --append", "append to the text of that buffer")
    .option("--json", "print the buffer as JSON")
    .action(async (text: string | undefined, flags: Flags & { name?: string; append?: boolean }, command: Command) => {
      const read = text ?? textOf(new Uint8Array(await Bun.stdin.arrayBuffer()), "standard input");
      return stored(command, flags, { text: read, buffer: bufferName(flags.name), append: flags.append ?? false });
    });
  add("load <file> [name]", "Store the text of a file.")
    .option("--json", "print the buffer as JSON")
    .action(async (file: string, name: string | undefined, flags: Flags, command: Command) =>
      stored(command, flags, {
        text: textOf(
          withFile(file, "read", () => fs.readFileSync(file)),
          file,
        ),
        buffer: bufferName(name),
      }),
    );
  add("save <file> [name]", "Write a paste buffer to a file.")
    .option("-a, --append", "append it to the file")
    .action(async (file: string, name: string | undefined, flags: Flags & { append?: boolean }, command: Command) => {
      const { text } = await withCall(command, flags, (call) => call("buffer.get", { buffer: bufferName(name) }));
      withFile(file, "written", () => fs.writeFileSync(file, text, { flag: flags.append === true ? "a" : "w" }));
    });
  add("rename <name> <new>", "Rename a paste buffer.").action(
    async (name: string, to: string, flags: Flags, command: Command) => {
      await withCall(command, flags, (call) => call("buffer.rename", { buffer: name, new_name: checkedName(to) }));
    },
  );
  add("delete [name]", "Delete a paste buffer.")
    .option("--all", "delete all")
    .action(async (name: string | undefined, flags: Flags & { all?: boolean }, command: Command) => {
      if (flags.all !== true)
        return void (await withCall(command, flags, (call) => call("buffer.delete", { buffer: bufferName(name) })));
      requireOptions([{ option: "all", excludes: ["name"] }], { ...flags, name }, { name: "a name" });
      await withCall(command, flags, (call) => call("buffer.delete", { all: true })).catch((thrown) => {
        if (WshError.from(thrown).code !== "buffer_not_found") throw thrown;
      });
    });
  buffer
    .command("paste [name]")
    .description("Type a paste buffer into a pane (default: this one).")
    .option("--to <target>", "a session, window or pane")
    .option("--delete", "delete it afterwards")
    .action(async (name: string | undefined, flags: { to?: string; delete?: boolean }, command: Command) => {
      const around =
        flags.to === undefined ? paneAround(process.env) : { instance: instanceOf(command), pane: flags.to };
      if (around === null) throw new UsageError("not inside a session: name a target with --to");
      using session = await SessionClient.open(around.instance, around.pane);
      await session.call("buffer.paste", { buffer: bufferName(name), delete: flags.delete ?? false });
    });
}

async function stored(command: Command, flags: Flags, input: OperationInput<"buffer.set">): Promise<void> {
  if (input.text === "") throw new UsageError("the text is empty");
  const made = await withCall(command, flags, (call) => call("buffer.set", input));
  return flags.json === true
    ? printJson(made)
    : printText(`Paste buffer '${made.name}' has ${plural(made.bytes, "byte")}.\n`);
}

async function withCall<T>(command: Command, flags: Flags, use: (call: Call) => Promise<T>): Promise<T> {
  const around = flags.session === undefined && command.optsWithGlobals().serverName === undefined;
  const place = around ? paneAround(process.env) : null;
  const pane = place?.pane ?? flags.session;
  const instance = place?.instance ?? instanceOf(command);
  if (pane === undefined) return use(await filesOf(instance));
  using session = await SessionClient.open(instance, pane);
  return await use((name, input) => session.call(name, input));
}

/** The operations on buffers, without a session. */
async function filesOf(instance: Instance): Promise<Call> {
  const buffers = new PasteBuffers(new BufferFiles(instance), () => false);
  const { values } = await settingsOf(instance);
  const requireOwnBuffer = (name: string | undefined): void => {
    const owner = buffers.ownerOf(name, cliCaller);
    if (owner !== undefined && owner?.name !== ownerOf(cliCaller).name) requireNoAgent(values, cliCaller, "wsh buffer");
  };
  const calls: { [N in BufferOperation]: (input: OperationInput<N>) => OperationOutput<N> } = {
    "buffer.list": () => buffers.list(),
    "buffer.get": ({ buffer }) => buffers.get(buffer, cliCaller),
    "buffer.set": ({ buffer: name, text, append }) => {
      if (name !== undefined) requireOwnBuffer(name);
      return buffers.set({ text, name, append, owner: ownerOf(cliCaller) });
    },
    "buffer.rename": ({ buffer, new_name }) => {
      for (const name of [buffer, new_name]) requireOwnBuffer(name);
      return buffers.rename(buffer, new_name, cliCaller);
    },
    "buffer.delete": ({ buffer, all }) => {
      for (const each of all === true ? buffers.list() : [{ name: buffer }]) requireOwnBuffer(each.name);
      return all === true ? buffers.clear() : buffers.remove(buffer, cliCaller);
    },
  };
  return async (name, input) => calls[name](input);
}

function bufferName(name: string | undefined): string | undefined {
  return name === undefined ? undefined : checkedName(name);
}

/** @throws UsageError */
function checkedName(name: string): string {
  const checked = v.safeParse(BufferNameSchema, name);
  if (checked.success) return checked.output;
  throw new UsageError(
    `'${visible(name)}' is not a buffer name`,
    "Use 1 to 100 characters, without control characters and /.",
  );
}

/** @throws WshError payload_too_large, invalid_request for bytes that are not UTF-8 */
function textOf(bytes: Uint8Array, source: string): string {
  if (bytes.length > MAX_PASTE_BYTES) {
    throw new WshError("payload_too_large", `${source} has more than ${MAX_PASTE_BYTES} bytes`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new WshError("invalid_request", `${source} is not UTF-8 text`, { hint: "Paste buffers contain only text." });
  }
}

/** @throws WshError invalid_request with the system's reason */
function withFile<T>(path: string, how: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    const hint = `Give the path of a file that can be ${how}.`;
    throw new WshError(
      "invalid_request",
      `'${path}' cannot be ${how}: ${errorCode(error)}`,
      { hint },
      { cause: error },
    );
  }
}
