/** `wsh attach`: attaches this terminal to an existing session. */
import type { Command } from "commander";
import { lastAttached } from "../../events/last-attached.ts";
import { eventsDir } from "../../events/segments.ts";
import type { Instance } from "../../instance/paths.ts";
import type { ScrollbackChoice } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import { visible } from "../../protocol/harmless-text.ts";
import { normalName, parsePlace, parseTarget, sessionId } from "../../protocol/names.ts";
import { findSession, listProcesses, listSessions, lookUp } from "../../registry/registry.ts";
import { requireOptions, UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { attachTerminal } from "../session/attach-terminal.ts";
import { SessionClient } from "../session/client.ts";
import { offerFor } from "../session/offer-restore.ts";
import { paneAround } from "../session/surrounding-session.ts";
import { switchTerminal } from "../session/switch-terminal.ts";

interface AttachFlags {
  readonly scrollback: string;
  readonly altScreen?: boolean;
  readonly readOnly?: boolean;
  readonly independent?: boolean;
  readonly follow?: boolean;
  readonly prefix?: string;
  readonly nested?: boolean;
  readonly detachOthers?: boolean;
  readonly last?: boolean;
}

/** Maximum names in a message. */
const MAX_NAMED = 6;

export function register(program: Command): void {
  program
    .command("attach [name]")
    .description(
      "Show a session in this terminal and type into it. Without NAME: the session attached " +
        "last. A prefix of a name is enough if it is unique.\n" +
        "The prefix key (Ctrl+\\) twice detaches; the prefix key and ? show all keys.\n" +
        "Inside a session, it switches your terminal to NAME; --nested shows NAME inside the session instead.\n" +
        "Exit code: 0 after detaching; the program's own if it has ended.",
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
    .option("-l, --last", "the last attached session other than the one around this command")
    .option("-d, --detach-others", "disconnect the other terminals attached to it")
    .option("--read-only", "read-only: send no keys, do not affect the size")
    .action(async (given: string | undefined, flags: AttachFlags, command: Command) => {
      const scrollback = scrollbackOf(flags.scrollback);
      const instance = instanceOf(command);
      requireOptions([{ option: "last", excludes: ["given"] }], { ...flags, given }, { given: "a name" });
      const around = flags.last === true ? surroundingSession(instance) : null;
      const name = given === undefined ? lastName(instance, around) : await completeName(instance, given);
      const options = {
        prefixKey: flags.prefix,
        independent: flags.independent === true,
        follow: flags.follow === true,
        scrollback,
        altScreen: flags.altScreen === true,
        readOnly: flags.readOnly === true,
        detachAtEof: true,
      };
      if (flags.detachOthers === true) {
        using session = await SessionClient.open(instance, name);
        await session.call("session.detach", {});
      }
      const { machine, target: remoteTarget } = parsePlace(name);
      if (machine !== null) {
        const { attachRemote } = await import("../session/attach-remote.ts");
        process.exitCode = await attachRemote(instance, machine, remoteTarget, options);
        return;
      }
      const target = parseTarget(name);
      await offerFor(instance, name);
      const entry = findSession(instance, target);
      // A missing window is an error; no other window replaces it.
      if (target.kind === "session" && target.window !== undefined) {
        (await SessionClient.open(instance, name))[Symbol.dispose]();
      }
      const { name: shown, session, socket } = entry;
      if (
        flags.nested !== true &&
        (await switchTerminal(instance, { name: shown ?? name, session, socket }, newTerminalFlags(flags)))
      ) {
        process.stderr.write(`[switched to session '${visible(shown ?? name)}']\n`);
        return;
      }
      const { exitCode } = await attachTerminal(instance, {
        name: entry.name ?? name,
        session: entry.session,
        socket: entry.socket,
        ...options,
      });
      process.exitCode = exitCode;
    });
}

/** Number of the session in which this command runs; null outside of the instance's sessions. */
function surroundingSession(instance: Instance): number | null {
  const around = paneAround(process.env);
  if (around === null || around.instance.httpSocket !== instance.httpSocket) return null;
  return lookUp(listProcesses(instance), parseTarget(around.pane))?.session ?? null;
}

/**
 * Returns the name of the session that was attached last, or else of the newest.
 * @param excluded number of a session to leave out @throws UsageError when there is none
 */
function lastName(instance: Instance, excluded: number | null): string {
  const running = listSessions(instance).flatMap(({ name, session, ended }) =>
    name === null || session === null || ended || session === excluded ? [] : [{ name, id: sessionId(session) }],
  );
  const newest = running.at(-1);
  if (newest === undefined && excluded !== null)
    throw new UsageError("no other session is running", "`wsh list` shows the sessions.");
  if (newest === undefined)
    throw new UsageError("no session is running", "`wsh` starts one; `wsh list --all` includes ended sessions.");
  const last = running.length === 1 ? null : lastAttached(eventsDir(instance), new Set(running.map(({ id }) => id)));
  return (running.find(({ id }) => id === last) ?? newest).name;
}

/**
 * Completes the beginning of a name; any other target is returned unchanged. @throws UsageError if several
 * names begin so
 */
async function completeName(instance: Instance, given: string): Promise<string> {
  const text = normalName(given);
  const sessions = listSessions(instance);
  if (text === "" || sessions.some(({ name }) => name === text)) return given;
  const matches = sessions.flatMap(({ name, ended }) => (name?.startsWith(text) === true && !ended ? [name] : []));
  const [only, ...others] = matches;
  if (only === undefined) return given;
  // A crashed session is restored by its name, in preference to other sessions.
  const { listCrashed } = await import("../../checkpoints/operations.ts");
  if (listCrashed(instance, new Set(), "").some(({ name }) => name === text)) return given;
  if (others.length === 0) return only;
  throw new UsageError(
    `several names begin with '${visible(text)}': ${visible(matches.slice(0, MAX_NAMED).join(", "))}`,
    "Type more of it.",
  );
}

function newTerminalFlags({ scrollback, altScreen, readOnly, independent, follow, prefix }: AttachFlags): string[] {
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
