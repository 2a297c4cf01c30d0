/** `wsh token`: the token that TCP clients must send. */
import type { Command } from "commander";
import { readToken } from "../instance/token.ts";
import { WshError } from "../protocol/errors.ts";
import { instanceOf } from "./context.ts";
import { print } from "./print.ts";

export function register(program: Command): void {
  program
    .command("token")
    .description("Print the token that clients over TCP send as 'Authorization: Bearer TOKEN'.")
    .action(async (_options, command: Command) => {
      const instance = instanceOf(command);
      const token = readToken(instance);
      if (token === null) {
        throw new WshError("auth_required", `instance '${instance.name}' has no token yet`, {
          hint: "A token is made when a server first listens on TCP: wsh server --bind 127.0.0.1:8080.",
        });
      }
      await print(`${token}\n`);
    });
}
