/** `wsh paste`: prints a session's paste buffers, lists them, or adds a text. */
import { type Command, Option } from "commander";
import { WshError } from "../../protocol/errors.ts";
import { MAX_PASTE_BYTES } from "../../protocol/paste.ts";
import { visible } from "../../protocol/visible.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, say, table } from "../print.ts";
import { paneAround } from "../session/around.ts";
import { SessionClient } from "../session/client.ts";

interface PasteFlags {
  readonly list?: boolean;
  readonly add?: boolean;
  readonly id?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("paste")
    .argument("[name]", "the session (default: this one)")
    .description("Print the newest copy in a session: made in copy mode, by a program, or with --add.")
    .option("--list", "list the paste buffers, newest first")
    .addOption(new Option("--id <number>", "a paste buffer of --list (default: the newest)"))
    .option("--add", "add standard input as a paste buffer")
    .option("--json", "print the answer as JSON")
    .action(async (given: string | undefined, flags: PasteFlags, command: Command) => {
      const around = given === undefined ? paneAround(process.env) : { instance: instanceOf(command), pane: given };
      if (around === null) throw new UsageError("not inside a session: name one");
      using session = await SessionClient.open(around.instance, around.pane);
      if (flags.list === true) return printList(await session.call("buffer.list", {}), flags.json === true);
      if (flags.add === true) {
        const added = await session.call("buffer.add", { text: await standardInput() });
        return flags.json === true ? printJson(added) : say(`Paste buffer ${added.id} has ${added.bytes} bytes.\n`);
      }
      const { id } = flags;
      if (id !== undefined && !/^\d{1,9}$/.test(id)) throw new UsageError(`'${id}' is not a paste buffer number`);
      const found = await session.call("buffer.get", id === undefined ? {} : { buffer_id: Number(id) });
      return flags.json === true ? printJson(found) : print(found.text);
    });
}

function printList(buffers: readonly { id: number; bytes: number; at: number; begins: string }[], json: boolean) {
  if (json) return printJson(buffers);
  const rows = buffers.map(({ id, bytes, at, begins }) => {
    return [String(id), String(bytes), new Date(at).toLocaleTimeString("en-GB"), visible(begins)];
  });
  return print(table([["ID", "BYTES", "AT", "TEXT"], ...rows]));
}

/** @throws WshError payload_too_large */
async function standardInput(): Promise<string> {
  const text = await Bun.stdin.text();
  if (Buffer.byteLength(text) <= MAX_PASTE_BYTES) return text;
  throw new WshError("payload_too_large", `standard input is longer than ${MAX_PASTE_BYTES} bytes`);
}
