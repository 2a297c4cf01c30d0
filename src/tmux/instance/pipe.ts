/** `pipe-pane`: the bytes of a pane go to a shell command, and what that prints is typed. A process of its own does it. */
import * as v from "valibot";
import { messageTypes } from "../../protocol/messages.ts";
import type { Sessions } from "./sessions.ts";

/** Variable of the process that carries a pipe: what it carries. */
export const PIPE = "WSH_TMUX_PIPE";

/** Bytes that the command has not read above which the pane's output waits. */
const HIGH_BYTES = 1024 * 1024;

const PipeSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ pane: v.string(), command: v.string(), reads: v.boolean(), types: v.boolean() }),
);

/** @returns false where the environment asks for no pipe */
export async function carryPipe(
  sessions: Sessions,
  { [PIPE]: given, ...env }: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<boolean> {
  if (given === undefined) return false;
  const { pane, command, reads, types } = v.parse(PipeSchema, given);
  const child = Bun.spawn(["sh", "-c", command], {
    env,
    cwd,
    stdin: "pipe",
    stdout: types ? "pipe" : "ignore",
    stderr: "ignore",
  });
  let waiting = 0;
  const connection = await sessions.stream("peer.raw", { snapshot: false, read_only: !types }, pane, {
    message({ type, payload }) {
      if (type !== messageTypes.output || !reads) return;
      child.stdin.write(payload.slice());
      waiting += payload.length;
      if (waiting < HIGH_BYTES) return;
      connection.pause();
      void Promise.resolve(child.stdin.flush()).then(() => {
        waiting = 0;
        connection.resume();
      });
    },
    // The command reads the end of its input, and may go on.
    close: () => void child.stdin.end(),
  });
  if (child.stdout instanceof ReadableStream)
    for await (const bytes of child.stdout) connection.sendBytes(messageTypes.input, bytes);
  await child.exited;
  connection.close();
  return true;
}
