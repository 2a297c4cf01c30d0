/**
 * Reconnects to a session of another machine whose link was lost, however long that takes, and shows a notice while the
 * machine does not answer.
 */
import { WshError } from "../protocol/errors.ts";
import { visible } from "../protocol/harmless-text.ts";
import type { Size } from "../protocol/size.ts";
import { Connection, type Dial } from "../wire/connection.ts";

/** Interval between two tries, and between two notices, in ms. */
const TRY_MS = 500;
const NOTICE_MS = 1_000;

/** The name for a session of another machine in messages. */
export interface RemoteSession {
  readonly machine: string;
  /** How the person can leave; empty without a prefix key. */
  readonly leaveHint: string;
}

export type OpenedConnection = Awaited<ReturnType<typeof Connection.open>>;

interface ReconnectPort {
  /** The person has left. */
  isOver(): boolean;
  say(text: string): void;
}

/**
 * Retries until the machine answers.
 * @returns null when the person has left
 * @throws WshError when the machine reports that the session is gone
 */
export async function reconnect(
  { machine, leaveHint }: RemoteSession,
  find: () => Promise<string | Dial | null>,
  port: ReconnectPort,
): Promise<OpenedConnection | null> {
  const since = performance.now();
  const noticeTimer = setInterval(() => {
    const seconds = Math.round((performance.now() - since) / 1_000);
    if (!port.isOver()) port.say(`${machine} unreachable, ${seconds} s${leaveHint}`);
  }, NOTICE_MS);
  try {
    while (!port.isOver()) {
      const opened = await tryConnect(find);
      if (opened !== null && port.isOver()) opened.connection.close();
      else if (opened !== null) return opened;
      else await Bun.sleep(TRY_MS);
    }
    return null;
  } finally {
    clearInterval(noticeTimer);
  }
}

/** Null while the machine may return. */
async function tryConnect(find: () => Promise<string | Dial | null>): Promise<OpenedConnection | null> {
  try {
    const found = await find();
    return found === null ? null : await Connection.open(found, "attach");
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    if (code === "machine_unreachable" || code === "session_unavailable" || code === "lock_busy") return null;
    throw thrown;
  }
}

/** A line over the last row that leaves the cursor in place; the next picture renders over it. */
export function unreachableNotice(text: string, { rows, cols }: Size): Uint8Array {
  const shown = ` ${visible(text)} `.slice(0, cols);
  return new TextEncoder().encode(`\x1b7\x1b[${rows};1H\x1b[0;7m${shown}\x1b[0m\x1b8`);
}
