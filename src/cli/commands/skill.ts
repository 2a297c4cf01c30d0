/** `wsh skill`: the guides of `skills/`, for agents that have a shell and no MCP. */
import { Argument, type Command } from "commander";
import { coreForShells, skills } from "../../mcp/skills/skills.ts";
import { print } from "../print.ts";

/** The guide to calling wsh from a shell comes first: the others assume it or its MCP form. */
const guides = [coreForShells, ...skills];

/** Room for the longest name in the list, in columns. */
const NAME_COLS = Math.max(...guides.map(({ name }) => name.length)) + 2;

export function register(program: Command): void {
  program
    .command("skill")
    .description("Print a guide for agents; without a name, list the guides. From a shell, begin with core-http.")
    .addArgument(new Argument("[name]").choices(guides.map(({ name }) => name)))
    .action((name: string | undefined) => {
      const guide = guides.find((each) => each.name === name);
      if (guide !== undefined) return print(guide.text);
      return print(guides.map((each) => `${each.name.padEnd(NAME_COLS)}${each.description}\n`).join(""));
    });
}
