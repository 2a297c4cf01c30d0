/**
 * Offers to restore crashed sessions when a person asks for one. It asks once about each checkpoint: a
 * refusal is remembered until the session has run again. Setting `restore` answers in advance.
 */
import fs from "node:fs";
import { checkpointsDir, declinedFile } from "../../checkpoints/files/paths.ts";
import type { CrashedSession } from "../../checkpoints/files/sessions.ts";
import type { Instance } from "../../instance/paths.ts";
import { readText } from "../../platform/readable.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, parseTarget } from "../../protocol/names.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { processState } from "../../registry/liveness.ts";
import { cleanStale, listSessions, lookUp } from "../../registry/registry.ts";
import { confirmed } from "../confirm.ts";
import { settingsOf } from "../instance.ts";
import { complain } from "../print.ts";

/** Runs before a session is attached to. @throws WshError session_not_running when it crashed and is not restored */
export async function offerFor(instance: Instance, target: string): Promise<void> {
  const parsed = parseTarget(target);
  const entry = lookUp(listSessions(instance), parsed);
  if (entry !== undefined && !entry.ended && processState(entry.socket) !== "dead") {
    const { staysAlive } = await import("../../checkpoints/killed-processes.ts");
    if (await staysAlive(entry.socket)) return;
  }
  const { findCrashedAfterExit } = await import("../../checkpoints/find-crashed.ts");
  let crashed: CrashedSession;
  try {
    crashed = await findCrashedAfterExit(instance, parsed);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "checkpoint_not_found") throw thrown;
    // A session without any remains leaves no name either.
    if (entry !== undefined && !entry.ended) await cleanStale(instance);
    return;
  }
  const { values } = await settingsOf(instance);
  const wanted = await isWanted(
    values.restore,
    [crashed],
    `Session '${crashed.session.name}' crashed (${crashed.why}). Restore it?`,
  );
  if (!wanted) throw new WshError("session_not_running", `session '${crashed.session.name}' crashed: ${crashed.why}`);
  const { restoreSession } = await import("../../checkpoints/restore.ts");
  await restoreSession(instance, crashed, undefined, { env: process.env, starter: "cli" });
  reportLeftOut(crashed);
}

/** Runs before plain `wsh` makes a session. @returns the session to attach to: the restored session used last */
export async function offerAll(instance: Instance): Promise<SessionInfo | null> {
  if (!fs.existsSync(checkpointsDir(instance))) return null;
  const { listRestorable } = await import("../../checkpoints/find-crashed.ts");
  const crashed = listRestorable(instance).filter((one) => !isDeclined(one));
  if (crashed.length === 0) return null;
  const { values } = await settingsOf(instance);
  const names = crashed.map(({ session }) => session.name).join(", ");
  const question =
    crashed.length === 1
      ? `Session '${names}' crashed (${crashed[0]?.why}). Restore it?`
      : `Crashed sessions: ${names}. Restore them?`;
  if (!(await isWanted(values.restore, crashed, question))) return null;
  const { restoreSession } = await import("../../checkpoints/restore.ts");
  const restored: SessionInfo[] = [];
  for (const one of crashed.toSorted((a, b) => b.saved_at - a.saved_at)) {
    try {
      restored.push(await restoreSession(instance, one, undefined, { env: process.env, starter: "cli" }));
      reportLeftOut(one);
    } catch (thrown) {
      complain(`session '${one.session.name}' is not restored: ${WshError.from(thrown).message}`);
    }
  }
  if (restored.length > 1) complain(`restored: ${restored.map(({ name }) => name).join(", ")}`);
  return restored[0] ?? null;
}

function reportLeftOut({ left_out, session }: CrashedSession): void {
  for (const { pane, why } of left_out)
    complain(`session '${session.name}' is restored without pane ${paneId(pane)}: ${why}`);
}

async function isWanted(
  setting: "ask" | "auto" | "never",
  crashed: readonly CrashedSession[],
  question: string,
): Promise<boolean> {
  if (setting !== "ask") return setting === "auto";
  if (!process.stdin.isTTY || crashed.every(isDeclined)) return false;
  const answer = await confirmed(question);
  if (!answer) for (const one of crashed) decline(one);
  return answer;
}

function isDeclined({ directory, saved_at }: CrashedSession): boolean {
  return readText(declinedFile(directory)) === String(saved_at);
}

function decline({ directory, saved_at }: CrashedSession): void {
  try {
    fs.writeFileSync(declinedFile(directory), String(saved_at), { mode: 0o600 });
  } catch {
    // The person will be asked again.
  }
}
