/** `wsh attach`: attaches this terminal to an existing session. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import type { ScrollbackChoice } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import { parsePlace, parseTarget } from "../../protocol/names.ts";
import { visible } from "../../protocol/visible.ts";
import { findSession, listSessions } from "../../registry/registry.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { attachHere } from "../session/attach-here.ts";
import { SessionClient } from "../session/client.ts";
import { goThere } from "../session/go-there.ts";
import { offerFor } from "../session/offer-restore.ts";

interface AttachFlags {
  readonly scrollback: string;
  readonly altScreen?: boolean;
  readonly readOnly?: boolean;
  readonly independent?: boolean;
  readonly follow?: boolean;
  readonly prefix?: string;
  readonly nested?: boolean;
}

export function register(program: Command): void {
  program
    .command("attach [name]")
    .description(
      "Show a session in this terminal and type into it. NAME can be omitted if only one session is running.\n" +
        "The prefix key (Ctrl+\\) twice detaches; the prefix key and ? show all keys.\n" +
        "Inside a session, it switches your terminal to NAME; --nested shows NAME inside the session instead.\n" +
        "Exit code: 0 after detaching, the program's own when it ended.",
    )
    .option(
      "--scrollback <lines>",
      "history to copy into this terminal's scrollback: new (since it detached), all, none, or N lines",
      "new",
    )
    .option("--alt-screen", "draw on the alternate screen")
    .option("--independent", "choose windows and panes independently of other terminals")
    .option("--follow", "let other attached terminals decide the size")
    .option("--prefix <key>", "prefix key instead of Ctrl+\\ (WSH_PREFIX)")
    .option("--nested", "inside a session: show NAME in it")
    .option("--read-only", "read-only: send no keys, do not affect the size")
    .action(async (given: string | undefined, flags: AttachFlags, command: Command) => {
      const scrollback = scrollbackOf(flags.scrollback);
      const instance = instanceOf(command);
      const name = given ?? onlyName(instance);
      const options = {
        prefixKey: flags.prefix,
        independent: flags.independent === true,
        follow: flags.follow === true,
        scrollback,
        altScreen: flags.altScreen === true,
        readOnly: flags.readOnly === true,
        detachAtEof: true,
      };
      const { machine, target: there } = parsePlace(name);
      if (machine !== null) {
        const { attachThere } = await import("../session/attach-there.ts");
        process.exitCode = await attachThere(instance, machine, there, options);
        return;
      }
      const target = parseTarget(name);
      await offerFor(instance, name);
      const entry = findSession(instance, target);
      // A missing window is an error; another one is never used instead.
      if (target.kind === "session" && target.window !== undefined) {
        (await SessionClient.open(instance, name))[Symbol.dispose]();
      }
      const { name: shown, session, socket } = entry;
      if (
        flags.nested !== true &&
        (await goThere(instance, { name: shown ?? name, session, socket }, ownWays(flags)))
      ) {
        process.stderr.write(`[switched to session '${visible(shown ?? name)}']\n`);
        return;
      }
      const { exitCode } = await attachHere(instance, {
        name: entry.name ?? name,
        session: entry.session,
        socket: entry.socket,
        ...options,
      });
      process.exitCode = exitCode;
    });
}

/** Name of the only session. @throws UsageError when there is none, or several */
function onlyName(instance: Instance): string {
  const names = listSessions(instance).flatMap(({ name, ended }) => (name === null || ended ? [] : [name]));
  const [only] = names;
  if (only === undefined)
    throw new UsageError("no session is running", "`wsh` starts one; `wsh list --all` includes ended sessions.");
  if (names.length > 1) throw new UsageError(`${names.length} sessions are running: ${names.join(", ")}`, "Name one.");
  return only;
}

/** Flags of an attached terminal of its own. */
function ownWays({ scrollback, altScreen, readOnly, independent, follow, prefix }: AttachFlags): string[] {
  return [
    ...(scrollback === "new" ? [] : ["--scrollback"]),
    ...(altScreen === true ? ["--alt-screen"] : []),
    ...(readOnly === true ? ["--read-only"] : []),
    ...(independent === true ? ["--independent"] : []),
    ...(follow === true ? ["--follow"] : []),
    ...(prefix === undefined ? [] : ["--prefix"]),
  ];
}

/** @throws WshError invalid_request */
function scrollbackOf(text: string): ScrollbackChoice {
  if (text === "new" || text === "all" || text === "none") return text;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new WshError("invalid_request", `'${text}' is not a scrollback amount`, {
    hint: "Give new, all, none, or a number.",
  });
}
