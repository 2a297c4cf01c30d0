/**
 * `pipe-pane`: sends a pane's output to a shell command, and types the command's output. A process of its own
 * carries the pipe. When an AI agent may no longer use the session (it has become private, or a person has
 * revoked a permission), the command's process group is ended at once, and `show-messages` says so.
 */
import { once } from "node:events";
import fs from "node:fs";
import * as v from "valibot";
import { actingFor } from "../../platform/child-limits.ts";
import { type StreamEnd, StreamEndSchema } from "../../protocol/control.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import type { Connection } from "../../wire/connection.ts";
import { keepMessage } from "../state.ts";
import type { Sessions } from "./sessions.ts";
import type { StateFile } from "./state-file.ts";

/** Variable of the process that carries a pipe: its parameters. */
export const PIPE = "WSH_TMUX_PIPE";

/** Bytes not yet read by the command above which the pane's output waits. */
const HIGH_BYTES = 1024 * 1024;

/** Longest search for a restarted pane, in ms: a crowded machine takes over a second. */
const FOLLOW_MS = 3_000;

/** Time for a command whose pipe may no longer exist to end by itself, in ms; then it is killed. */
const ENDING_MS = 500;

const PipeSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ pane: v.string(), command: v.string(), reads: v.boolean(), types: v.boolean() }),
);

/** For kill(2): the process group of this process, which is also the command's. */
const OWN_GROUP = 0;

/** Ends of a stream after which its command may not continue, in words. */
const refusals: Readonly<Partial<Record<StreamEnd["reason"], string>>> = {
  private: "its session is private now",
  access_denied: "its permission was taken back",
  moved_away: "its pane is in another session now",
};

/** @returns false if the environment names no pipe */
export async function carryPipe(
  { sessions, state }: { readonly sessions: Sessions; readonly state: StateFile },
  { [PIPE]: encodedPipe, ...env }: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<boolean> {
  if (encodedPipe === undefined) return false;
  const { pane: first, command, reads, types } = v.parse(PipeSchema, encodedPipe);
  const child = actingFor(env.WSH_AGENT, () =>
    Bun.spawn(["/bin/sh", "-c", command], {
      env,
      cwd,
      stdin: "pipe",
      stdout: types ? "pipe" : "ignore",
      stderr: "ignore",
    }),
  );
  /** Ends the command and this process. */
  const refuse = async (why: string): Promise<void> => {
    process.on("SIGTERM", () => {});
    process.kill(OWN_GROUP, "SIGTERM");
    await Promise.race([child.exited, Bun.sleep(ENDING_MS)]);
    const { WSH_AGENT: agent = "an agent" } = env;
    await state
      .change((changed) => {
        delete changed.pipes[first];
        keepMessage(changed, `the pipe of ${agent} at pane ${tmuxId.replace("@", "%")} has ended: ${why}`);
      })
      .catch(() => {});
    process.kill(OWN_GROUP, "SIGKILL");
  };
  let refusal: Promise<void> | null = null;
  /** Whether a message ends the stream since the agent may not use it; then the command is ended. */
  const refusedBy = ({ type, payload }: WireMessage): boolean => {
    if (type !== messageTypes.end) return false;
    const { reason } = v.parse(StreamEndSchema, messageJson({ type, payload }));
    const why = refusals[reason];
    if (why !== undefined) refusal ??= refuse(why);
    return why !== undefined;
  };
  let waitingBytes = 0;
  const guards: Connection[] = [];
  const open = async (pane: string, isAgain: boolean): Promise<Connection> => {
    // A snapshot begins with the preparation of a used screen.
    let skips = isAgain;
    const opened = await sessions.stream("peer.raw", { snapshot: isAgain, read_only: !types }, pane, {
      message(message) {
        const { type, payload } = message;
        if (refusedBy(message) || type !== messageTypes.output || !reads) return;
        if (!skips) child.stdin.write(payload.slice());
        skips = false;
        waitingBytes += payload.length;
        if (waitingBytes < HIGH_BYTES) return;
        opened.pause();
        void Promise.resolve(child.stdin.flush()).then(() => {
          waitingBytes = 0;
          opened.resume();
        });
      },
      close() {
        if (refusal === null) following = followMovedPane();
      },
    });
    // The pipe's own stream is not read while the command reads nothing.
    if (env.WSH_AGENT !== undefined)
      guards.push(await sessions.stream("peer.subscribe", { events: ["mode"], call: 0 }, pane, { message: refusedBy }));
    return opened;
  };
  /** The id that tmux's callers know, and those that the pane has had. */
  const tmuxId = state.read().panes[first] ?? first;
  const followedPanes = new Set([first]);
  let following: Promise<void> | null = null;
  let connection = await open(first, false).catch((thrown) => {
    child.kill();
    throw thrown;
  });
  /** Follows a restarted pane: the state contains its new id, even after the end of the pipe was requested. */
  async function followMovedPane(): Promise<void> {
    const until = Date.now() + FOLLOW_MS;
    do {
      const next = Object.entries(state.read().panes).find(
        ([pane, id]) => id === tmuxId && !followedPanes.has(pane),
      )?.[0];
      if (next !== undefined) {
        followedPanes.add(next);
        connection = await open(next, true);
        return;
      }
      await state.changed();
    } while (Date.now() < until);
    // The command reads the end of its input, and may continue.
    child.stdin.end();
  }
  const carried = (async () => {
    if (child.stdout instanceof ReadableStream)
      for await (const bytes of child.stdout) connection.sendBytes(messageTypes.input, bytes);
    await child.exited;
  })();
  // An answer arrives after everything that the pane printed before it. After a restart of the pane, the new program
  // answers.
  const printed = (): Promise<unknown> => connection.request("session.get", {}, sessions.context);
  const ended = once(process, "SIGTERM").then(() =>
    printed().catch(async () => {
      await following;
      return printed();
    }),
  );
  // The starting process waits for this line.
  fs.writeSync(1, "\n");
  await Promise.race([carried, ended.catch(() => {})]);
  await refusal;
  connection.listen({});
  connection.close();
  for (const guard of guards) guard.close();
  await child.stdin.end();
  return true;
}
