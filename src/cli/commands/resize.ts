/** `wsh resize`: sets the size of a session's terminal. */
import type { Command } from "commander";
import { MAX_SIDE } from "../../protocol/size.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

/** A wide character has to fit. */
const MIN_COLS = 2;

export function register(program: Command): void {
  program
    .command("resize <name> <size>")
    .description(
      "Set the size of a session's terminal, as COLSxROWS. It lasts until a terminal attaches: an attached terminal " +
        "determines the size.",
    )
    .option("--force", "also with attached terminals, until one of them types or resizes")
    .action(async (name: string, size: string, options: { readonly force?: boolean }, command: Command) => {
      const dimensions = parseSize(size);
      using session = await SessionClient.open(instanceOf(command), name);
      const { cols, rows } = await session.call("session.resize", { ...dimensions, force: options.force === true });
      await printText(`Session '${session.name}' is ${cols}x${rows}.\n`);
    });
}

/** @throws UsageError */
export function parseSize(text: string): { rows: number; cols: number } {
  const match = /^(\d{1,5})x(\d{1,5})$/i.exec(text);
  const [cols, rows] = [Number(match?.[1]), Number(match?.[2])];
  if (cols >= MIN_COLS && cols <= MAX_SIDE && rows >= 1 && rows <= MAX_SIDE) return { cols, rows };
  throw new UsageError(
    `'${text}' is not a size`,
    `Give COLSxROWS, such as 120x40; at least ${MIN_COLS}x1, at most ${MAX_SIDE} each.`,
  );
}
