/** `wsh persist`: whether the server stays when its last session ends. */
import { Argument, type Command } from "commander";
import * as v from "valibot";
import { outputSchema } from "../../operations/table.ts";
import { askServer } from "../../registry/server-client.ts";
import { instanceOf } from "../instance.ts";
import { printText } from "../print.ts";

export function register(program: Command): void {
  program
    .command("persist")
    .description("Print or set whether the server outlives its last session (persistent) or ends with it (ephemeral).")
    .addArgument(new Argument("[mode]", "make it persistent or ephemeral").choices(["on", "off"]))
    .action(async (mode: "on" | "off" | undefined, _options, command: Command) => {
      const instance = instanceOf(command);
      const answer = await (mode === undefined
        ? askServer(instance, "GET", "/server/persist")
        : askServer(instance, "PUT", "/server/persist", { body: { persistent: mode === "on" } }));
      const { persistent } = v.parse(outputSchema("server.persist.get"), answer);
      await printText(
        persistent
          ? "The server is persistent: it stays when its last session ends.\n"
          : "The server is ephemeral: it ends with its last session.\n",
      );
    });
}
