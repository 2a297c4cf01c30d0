/** `wsh tag`: shows a session's tags, adds tags and removes them. */
import type { Command } from "commander";
import { collect } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { printJson, printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";

interface TagOptions {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("tag <name>")
    .description("Show or change a session's tags; all changes are made, or none.")
    .option("--add <tag>", "add a tag (repeatable)", collect)
    .option("--remove <tag>", "remove a tag (repeatable)", collect)
    .option("--json", "print the tags as JSON")
    .action(async (name: string, { add = [], remove = [], json }: TagOptions, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const changed = add.length > 0 || remove.length > 0;
      const { tags } = changed
        ? await session.call("session.update", { add_tags: [...add], remove_tags: [...remove] })
        : await session.call("session.get", {});
      if (json === true) return printJson(tags);
      return printText(`Session '${session.name}': ${tags.length === 0 ? "no tags" : tags.join(", ")}\n`);
    });
}
