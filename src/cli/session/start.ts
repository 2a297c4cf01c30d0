/**
 * Starts a session from this command line: its process is our child, so it inherits our umask, limits, directory and
 * environment.
 */
import { isAbsolute } from "node:path";
import * as v from "valibot";
import { type Instance, sessionSocket } from "../../instance/paths.ts";
import { sessionSpecOf, startSessionProcess } from "../../launch/session-process.ts";
import type { SessionSpec } from "../../launch/session-spec.ts";
import { ownerProcessAbove } from "../../platform/agent-above.ts";
import { ownDirectory } from "../../platform/directory.ts";
import { requireAgentRoom } from "../../protocol/agent-sessions.ts";
import { defined } from "../../protocol/defined.ts";
import { paneNumber } from "../../protocol/names.ts";
import { ownerOf } from "../../protocol/owner.ts";
import { type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { settingsOf, warn } from "../instance.ts";
import { cliCaller } from "./client.ts";

const ReportSchema = v.object({ info: SessionInfoSchema, warnings: v.array(v.string()) });

/** @throws WshError max_sessions_reached: an agent has reached its limit of running sessions */
async function requireRoom(instance: Instance): Promise<void> {
  if (cliCaller.agent === undefined) return;
  const [{ findAll }, { values }] = await Promise.all([import("./session-list.ts"), settingsOf(instance)]);
  const listed = (await findAll(instance)).flatMap((one) => ("info" in one ? [one.info] : []));
  requireAgentRoom(listed, ownerOf(cliCaller), values.max_agent_sessions);
}

export interface Started {
  readonly info: SessionInfo;
  /** Socket of the session process. */
  readonly socket: string;
}

interface StartOptions {
  readonly isFollowed?: boolean;
  readonly isOpened?: boolean;
  readonly stdinPath?: string | undefined;
  readonly stdoutPath?: string | undefined;
}

/**
 * @param options.stdinPath path of the program's standard input
 * @param options.stdoutPath path for its standard output, instead of its terminal
 * @param options.isOpened a person opens it
 * @param options.isFollowed the program's output is held until it is requested with peer.follow
 * @throws WshError of the operation sessions.create
 */
export async function startSession(
  instance: Instance,
  create: SessionSpec["create"],
  naming: SessionSpec["naming"],
  { isFollowed = false, isOpened = false, stdinPath, stdoutPath }: StartOptions = {},
): Promise<Started> {
  await requireRoom(instance);
  const stdin = defined({ stdin_path: stdinPath });
  const stdout = defined({ stdout_path: stdoutPath });
  const starter = {
    starter: "cli" as const,
    owner: ownerOf(cliCaller),
    ...(create.owner_bound === true ? { owner_process: ownerProcessAbove(process.ppid) ?? undefined } : {}),
    naming,
    followed: isFollowed,
    opened: isOpened && cliCaller.agent === undefined,
    ...stdin,
    ...stdout,
    env: process.env,
    // With a directory of the session's own, ours is not needed: it may have been deleted.
    cwd: typeof create.cwd === "string" && isAbsolute(create.cwd) ? create.cwd : ownDirectory(),
  };
  const spec = sessionSpecOf(instance, create, starter);
  const report = v.parse(ReportSchema, await startSessionProcess(instance, spec));
  report.warnings.forEach(warn);
  const { pane_id } = report.info;
  return { info: report.info, socket: sessionSocket(instance, paneNumber(pane_id)) };
}
