/**
 * Starts a session from this command line: its process is our child, so it inherits our umask, limits, directory and
 * environment.
 */
import { isAbsolute } from "node:path";
import * as v from "valibot";
import { hostSocket, type Instance } from "../../instance/paths.ts";
import { hostSpecOf, startHost } from "../../launch/host.ts";
import type { HostSpec } from "../../launch/host-spec.ts";
import { ownDirectory } from "../../platform/directory.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { warn } from "../instance.ts";

const ReportSchema = v.object({ info: SessionInfoSchema, warnings: v.array(v.string()) });

export interface Started {
  readonly info: SessionInfo;
  /** Of the session process. */
  readonly socket: string;
}

interface StartOptions {
  readonly followed?: boolean;
  readonly stdinPath?: string | undefined;
  readonly stdoutPath?: string | undefined;
}

/**
 * @param options.stdinPath what the program gets as standard input
 * @param options.stdoutPath where its standard output goes instead of its terminal
 * @param options.followed the program's output is held until it is requested with host.follow
 * @throws WshError of the operation sessions.create
 */
export async function startSession(
  instance: Instance,
  create: HostSpec["create"],
  naming: HostSpec["naming"],
  { followed = false, stdinPath, stdoutPath }: StartOptions = {},
): Promise<Started> {
  const stdin = stdinPath === undefined ? {} : { stdin_path: stdinPath };
  const stdout = stdoutPath === undefined ? {} : { stdout_path: stdoutPath };
  const starter = {
    starter: "cli" as const,
    naming,
    followed,
    ...stdin,
    ...stdout,
    env: process.env,
    // Where the session says where it starts, ours is not needed: it may have been deleted.
    cwd: typeof create.cwd === "string" && isAbsolute(create.cwd) ? create.cwd : ownDirectory(),
  };
  const spec = hostSpecOf(instance, create, starter);
  const report = v.parse(ReportSchema, await startHost(instance, spec));
  report.warnings.forEach(warn);
  const { pane_id } = report.info;
  const target = parseTarget(pane_id);
  if (target.kind !== "pane") throw new WshError("internal_error", `'${pane_id}' is not a pane id`);
  return { info: report.info, socket: hostSocket(instance, target.id) };
}
