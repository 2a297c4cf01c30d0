/** `wsh tmux -C`: control mode on this process's standard streams. */
import tty from "node:tty";
import type { Instance } from "../../instance/paths.ts";
import { ControlMode } from "../../tmux/control/mode.ts";
import { print } from "../print.ts";
import { localBackend } from "./client.ts";

/** @param isDouble `-CC`: the terminal around this process speaks control mode @returns the exit status */
export async function runControl(instance: Instance, words: readonly string[], isDouble: boolean): Promise<number> {
  using backend = localBackend(instance);
  const { stdin } = process;
  let waitingInput: Uint8Array[] = [];
  let pending = 0;
  let writing: Promise<void> | null = null;
  const mode = new ControlMode(backend, {
    isDouble,
    write,
    get pending() {
      return pending;
    },
  });
  const isRaw = isDouble && tty.isatty(0);
  if (isRaw) stdin.setRawMode(true);
  process.on("SIGTERM", () => mode.leave());
  stdin.on("data", (bytes: Buffer) => mode.receive(bytes));
  stdin.on("end", () => mode.close());
  try {
    const { status, message } = await mode.run(words);
    write(`%exit${message === null ? "" : ` ${message}`}\n${isDouble ? "\x1b\\" : ""}`);
    await writing;
    return status;
  } finally {
    if (isRaw) stdin.setRawMode(false);
    stdin.destroy();
  }

  function write(text: string | Uint8Array): void {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    waitingInput.push(bytes);
    pending += bytes.length;
    writing ??= drain();
  }

  /** Writes all queued output, as fast as the reader reads it. */
  async function drain(): Promise<void> {
    while (waitingInput.length > 0) {
      const all = Buffer.concat(waitingInput);
      waitingInput = [];
      await print(all);
      pending -= all.length;
      mode.drained();
    }
    writing = null;
  }
}
