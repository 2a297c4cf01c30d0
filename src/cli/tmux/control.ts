/** `wsh tmux -C`: control mode on this process's standard streams. */
import tty from "node:tty";
import type { Instance } from "../../instance/paths.ts";
import { ControlMode } from "../../tmux/control/mode.ts";
import { backendHere } from "./client.ts";

/** @param isDouble `-CC`: the terminal around this process speaks control mode @returns the exit status */
export async function runControl(instance: Instance, words: readonly string[], isDouble: boolean): Promise<number> {
  using backend = backendHere(instance);
  const { stdin, stdout } = process;
  const mode = new ControlMode(backend, {
    isDouble,
    write: (text) => void stdout.write(text),
    get pending() {
      return stdout.writableLength;
    },
  });
  const isRaw = isDouble && tty.isatty(0);
  if (isRaw) stdin.setRawMode(true);
  stdout.on("drain", () => mode.drained());
  stdin.on("data", (bytes: Buffer) => mode.receive(bytes));
  stdin.on("end", () => mode.close());
  try {
    const { status, message } = await mode.run(words);
    stdout.write(`%exit${message === null ? "" : ` ${message}`}\n${isDouble ? "\x1b\\" : ""}`);
    return status;
  } finally {
    if (isRaw) stdin.setRawMode(false);
    stdin.destroy();
  }
}
