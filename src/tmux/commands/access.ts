/**
 * Commands that control who may use sessions and terminals. Those without a counterpart in wsh fail, so that nobody
 * relies on them.
 */
import { TmuxError } from "../error.ts";
import type { Session } from "../model.ts";
import { clientFor } from "./client-list.ts";
import { type Command, command } from "./command.ts";

export const accessCommands: readonly Command[] = [
  command("lock-server lock", "", [0, 0], "", async (run) => {
    const { model } = await run.load();
    lock(model.sessions);
  }),
  command("lock-session locks", "t:", [0, 0], "[-t target-session]", async (run, args) => {
    lock([(await run.place(args, "session")).session]);
  }),
  command("lock-client lockc", "t:", [0, 0], "[-t target-client]", async (run, args) => {
    const { terminal, session } = await clientFor(run, args.get("t"));
    if (terminal !== null) lock([session]);
  }),
  command("suspend-client suspendc", "t:", [0, 0], "[-t target-client]", async (run, args) => {
    const { terminal } = await clientFor(run, args.get("t"));
    if (terminal !== null) throw new TmuxError("wsh cannot suspend the program around a terminal");
  }),
  command("server-access", "adlrt:w", [0, 1], "[-adlrw] [-t target-pane] [user]", async (run, args) => {
    if (args.has("l")) return;
    const name = args.word(0);
    if (name === undefined) throw new TmuxError("missing user argument");
    if (name === run.backend.account.name || name === "root")
      throw new TmuxError(`${name} owns the server, can't change access`);
    if ((await run.backend.shell(`id -u ${run.backend.shellText(["--", name])}`)).code !== 0)
      throw new TmuxError(`unknown user: ${name}`);
    if (args.has("a") && args.has("d")) throw new TmuxError("-a and -d cannot be used together");
    if (args.has("w") && args.has("r")) throw new TmuxError("-r and -w cannot be used together");
    if (!args.has("a")) throw new TmuxError(`user ${name} not found`);
    throw new TmuxError(`user ${name} cannot be added: wsh shares sessions by tokens and links`);
  }),
];

/** Locking succeeds without effect if no terminal shows these sessions. @throws TmuxError if one does */
function lock(sessions: readonly Session[]): void {
  const looked = sessions.find(({ info }) => info.attached > 0);
  if (looked !== undefined) throw new TmuxError(`wsh cannot lock terminals, and a terminal shows ${looked.name}`);
}
