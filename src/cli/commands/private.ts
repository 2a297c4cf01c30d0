/** `wsh private`: prints whether a session keeps anything on disk, or changes that from now on. */

import type { Command } from "commander";
import { Argument } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { sessionNumber } from "../../protocol/names.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { paneAround } from "../session/surrounding-session.ts";

export function register(program: Command): void {
  program
    .command("private")
    .argument("[name]", "the session (default: this one)")
    .addArgument(new Argument("[state]", "from now on").choices(["on", "off"]))
    .description(
      "Print or set whether a session is private: nothing of a private session is kept on disk. Without a name: the " +
        "session in which this command runs.",
    )
    .option("--json", "print the answer as JSON")
    .action(
      async (given: string | undefined, state: string | undefined, { json }: { json?: boolean }, command: Command) => {
        // `wsh private on` applies to the session around it.
        const isState = state === undefined && (given === "on" || given === "off");
        const newState = isState ? given : state;
        const name = isState ? undefined : given;
        const surrounding =
          name === undefined ? paneAround(process.env) : { instance: instanceOf(command), pane: name };
        if (surrounding === null) throw new UsageError("not inside a session: name one");
        using session = await SessionClient.open(surrounding.instance, surrounding.pane);
        const info =
          newState === undefined
            ? await session.call("session.get", {})
            : await session.call("session.update", { private: newState === "on" });
        const isPrivate = info.private ?? false;
        if (json === true) return printJson({ session: info.name, private: isPrivate });
        await printText(`Session '${info.name}' is ${isPrivate ? "private" : "not private"}.\n`);
        if (newState === "on") await reportLabels(surrounding.instance, info);
      },
    );
}

/** Automatic records are deleted; a person's labelled checkpoints are left to that person. */
async function reportLabels(instance: Instance, { id, name }: SessionInfo): Promise<void> {
  const { listNamedFolders } = await import("../../checkpoints/files/named.ts");
  let labels: string[];
  try {
    labels = listNamedFolders(instance, sessionNumber(id)).map(({ label }) => `'${label}'`);
  } catch (thrown) {
    return complain(`its labelled checkpoints could not be listed: ${WshError.from(thrown).message}`);
  }
  if (labels.length === 0) return;
  complain(`labelled checkpoints remain: ${labels.join(", ")}; wsh checkpoint delete ${name} LABEL deletes one`);
}
