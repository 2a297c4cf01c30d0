/** `wsh script`: runs a TypeScript program that drives terminals, by the Bun in the executable. */
import fs from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { defined } from "../../protocol/defined.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print } from "../print.ts";
import { carryOut } from "../session/script-process.ts";
import { paneAround } from "../session/surrounding-session.ts";

interface ScriptOptions {
  readonly eval?: string;
  readonly show?: boolean;
  readonly trace?: string;
  readonly types?: boolean;
}

const EXAMPLE = `
Example:
  wsh script - <<'END'
  const t = await open({ cwd: "/src/app" }); // its own; open("dev"): a session
  await t.run("npm init");
  await t.expect(/package name/);
  await t.type("demo\\n");
  await t.press("Ctrl+C");
  print(await t.ended(), await t.screen());
  END`;

export function register(program: Command): void {
  program
    .command("script [file] [args...]")
    .usage("[options] FILE [ARGS…] | - | -e CODE")
    .description(
      "Run a TypeScript program that drives terminals, with top-level await; wsh, open and print need no " +
        "import, and 'wsh skill script' documents the language. Exits 1 with the failing line, the reason and the screen.",
    )
    .option("-e, --eval <code>", "run this code")
    .option("--show", "show its terminals in panes beside this one")
    .option("--trace <file>", "write what happened: an HTML file, and a recording (asciicast) beside it")
    .option("--types", 'print the language\'s types for an editor, for import { open } from "wsh"')
    .addHelpText("after", EXAMPLE)
    .passThroughOptions()
    .action(async (file: string | undefined, args: string[], options: ScriptOptions, command: Command) => {
      const { eval: code, show, trace } = options;
      if (options.types === true)
        return print((await import("../../script/wsh.dts", { with: { type: "text" } })).default);
      if (file === undefined && code === undefined) {
        throw new UsageError("the script is missing", "Give a file, - for standard input, or -e CODE.");
      }
      const path = code === undefined && file !== undefined && file !== "-" ? resolve(file) : null;
      if (path !== null && !fs.existsSync(path)) throw new UsageError(`'${file}' does not exist`);
      const given = code === undefined ? [] : file === undefined ? [] : [file];
      const around = show === true ? paneAround(process.env) : null;
      if (show === true && around === null) throw new UsageError("--show works only inside a session");
      process.exitCode = await carryOut(around?.instance ?? instanceOf(command), [], (socket) => ({
        kind: "script",
        socket,
        args: [...given, ...args],
        ...defined({ code }),
        ...(around === null ? {} : { beside: around.pane }),
        ...(trace === undefined ? {} : { trace: resolve(trace) }),
        ...(path === null ? {} : { file: path }),
        ...(code === undefined && file === "-" ? { stdin: true } : {}),
      }));
    });
}
