/**
 * The session process: reads its spec from stdin, checks all of it, claims its place in the registry, starts the
 * program, reports, and serves until the session is over. It ends with its session and leaves nothing behind; when its
 * runtime directory is deleted, it binds again.
 */
import * as v from "valibot";
import { useTheme } from "../compositor/theme.ts";
import { SessionServer } from "../endpoint/session-server.ts";
import type { AuditLog, AuditRecord } from "../instance/audit/audit-log.ts";
import { directAudit, directly } from "../instance/audit/direct-audit.ts";
import { type HostSpec, HostSpecSchema } from "../instance/launch/host-spec.ts";
import { reportFailure, reportReady } from "../instance/launch/report.ts";
import { isStillSpare, takeSpareSign } from "../instance/launch/spare.ts";
import { createLogger, type Logger } from "../instance/log/log.ts";
import { hostSocket, type Instance, prepareRuntimeDir, resolveInstance } from "../instance/paths.ts";
import type { SessionIds } from "../instance/registry/directories.ts";
import type { LifeLock } from "../instance/registry/life-lock.ts";
import { watchOwnFiles } from "../instance/registry/own-files-watch.ts";
import { restoreSession } from "../instance/registry/register.ts";
import { changedLooks, loadSettings, logLevelFor } from "../instance/settings/settings.ts";
import type { Settings } from "../instance/settings/table.ts";
import { GiveBack } from "../platform/memory-release.ts";
import { WshError } from "../protocol/errors.ts";
import { keptEnvironment, keptVariables } from "../store/checkpoint/environment.ts";
import type { Foreground } from "../store/checkpoint/record.ts";
import { historyPlaces } from "../store/history/places.ts";
import { takeInWhenMany } from "../store/history/start-worker.ts";
import { Checkpoints, type CheckpointsPort } from "./checkpoints/keep.ts";
import { resume, toResume } from "./checkpoints/resume.ts";
import { type CreateOptions, createSession } from "./create.ts";
import { keepHistory } from "./history.ts";
import { Membership } from "./membership.ts";
import { Promotion } from "./promotion.ts";
import { Recovery } from "./recovery.ts";
import { servedPane } from "./served-pane.ts";
import type { Session } from "./session.ts";

/** Longest time for the last checkpoint when the process is told to end, in ms: whoever does so kills it soon. */
const LAST_MS = 1_000;
/** Longest time for peers to read the last messages before the process ends, in ms. */
const FLUSH_MS = 2_000;

export async function runHost(): Promise<void> {
  let created: Awaited<ReturnType<typeof begin>>;
  try {
    created = await begin();
  } catch (error) {
    reportFailure(error);
    // Not merely the exit code: what was bound before the failure would keep the process alive.
    process.exit(1);
  }
  const { session, server, instance, ids, life, membership, logger, warnings, history, checkpoints } = created;
  reportReady({ info: session.info(), warnings });
  const memory = new GiveBack();
  memory.worked();
  session.pane.events.on("chunk", () => memory.worked());
  const over = Promise.withResolvers<void>();
  session.events.on("destroyed", () => over.resolve());
  let restoring = false;
  // The reason for a failure is logged once, however often it is retried.
  const failed = new Set<string>();
  const files = { socket: hostSocket(instance, ids.id), life };
  using _watcher = watchOwnFiles(files, () => {
    if (restoring || session.lifetime.isEnding || session.lifetime.isOver) return;
    restoring = true;
    void registerAgain(instance, ids, files, session, server, logger, failed).finally(() => {
      restoring = false;
    });
  });
  for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => {});
  process.on("SIGTERM", () => void endedFromOutside(session, checkpoints));
  await over.promise;
  // A write under way would leave what the session's end has removed.
  await Promise.race([checkpoints?.settled(), Bun.sleep(LAST_MS)]);
  history[Symbol.dispose]();
  await membership
    .leave(instance, ids, session.name)
    .catch((error) => logger.warn("the session's files could not be removed", { error }));
  files.life.discard();
  await server.flush(FLUSH_MS);
  process.exit(0);
}

/** The machine or the login ends, as a rule: the session can come back. */
async function endedFromOutside(session: Session, checkpoints: Checkpoints | null): Promise<void> {
  await Promise.race([checkpoints?.lastOf("SIGTERM"), Bun.sleep(LAST_MS)]);
  await session.lifetime.kill("killed");
}

async function begin(): Promise<{
  session: Session;
  server: SessionServer;
  instance: Instance;
  ids: SessionIds;
  life: LifeLock;
  membership: Membership;
  logger: Logger;
  /** Warnings about the settings, for the process that starts it. */
  warnings: readonly string[];
  /** Writes the session's commands down until it is disposed. */
  history: Disposable;
  /** Null for a session that is only read. */
  checkpoints: Checkpoints | null;
}> {
  const text = await specText();
  // Kept ready for a pane, and not needed any more.
  if (text === "") process.exit(0);
  const spec = v.parse(HostSpecSchema, JSON.parse(text));
  const instance = resolveInstance({ flags: { socket: spec.socket }, env: process.env });
  // A session that somebody starts here and now is refused; panes of a running one come all the same.
  const isOfRunning = spec.starter === "server" || spec.member !== undefined || spec.restored !== undefined;
  const settings = loadSettings(instance, { env: process.env, tolerant: isOfRunning });
  useTheme(changedLooks(settings.theme));
  const logger = createLogger({ level: logLevelFor("host", settings), format: settings.values.log_format });
  const audit = directAudit(instance, settings.values);
  const server = new SessionServer(
    { clients: settings.values.max_clients, waiters: settings.values.max_waiters },
    {
      titles: settings.values.title === "on",
      clipboard: settings.values.clipboard === "write",
      instance,
      agentAlert: settings.values.agent_alert,
      mouse: settings.values.mouse,
    },
    audit,
  );
  const membership = new Membership(spec.member?.session ?? null);
  const create = { spec, instance, settings: settings.values, server, membership };
  // By the server, or by the layout process that starts a pane.
  const isRecorded = spec.starter === "server" || spec.member !== undefined;
  const { session, ids, life, ...before } = await (isRecorded ? createSession(create) : recorded(create, audit()));
  const { nofile } = spec;
  // What the session was given, its other panes have, too.
  const env = { ...spec.env, ...spec.create.env };
  const moved = (socket: string): void => server.moved(socket);
  const promotion = new Promotion({ session, instance, ids, membership, env, nofile, moved });
  // Its program may have ended before the layout process says so itself.
  if (spec.member?.served_at !== undefined) promotion.servedAt(spec.member.served_at);
  const recovery = new Recovery({ session, instance, id: ids.id, membership, promotion, logger });
  let checkpoints: Checkpoints | null = null;
  server.serve(servedPane(session, { instance, membership, promotion, recovery, checkpoints: () => checkpoints }));
  if (isWatched(settings.values)) {
    const { StatusLine } = await import("../endpoint/status/status-line.ts");
    const status = new StatusLine(session, settings.values, () => !membership.isMember);
    session.pane.events.on("chunk", () => status.painted(session.pane.id));
    session.events.on("destroyed", () => status[Symbol.dispose]());
  }
  const { warnings } = settings;
  const { id, pane_id } = session.info();
  const named = logger.with({ session: session.name, id, pane: pane_id });
  const places = historyPlaces(instance);
  const retention = { days: settings.values.history_days, bytes: settings.values.history_bytes };
  const history = keepHistory(session, {
    places,
    settings: settings.values,
    logger: named,
    startedByProgram: spec.starter === "server",
    begun: () => takeInWhenMany(places, retention),
  });
  const common = { session, instance, membership, logger: named, ...before };
  checkpoints = spec.restored?.run === false ? null : keepCheckpoints(spec, settings.values, ids, common);
  if (spec.member !== undefined && spec.restored?.run === true && spec.restored.restorer !== undefined) {
    void recovery.untilServed(spec.restored.restorer).then((isServed) => {
      if (isServed) return;
      named.warn("the restore was cut off: the session stays lost");
      checkpoints?.undone();
      return session.lifetime.kill("killed");
    });
  }
  return { session, server, instance, ids, life, membership, logger: named, warnings, history, checkpoints };
}

/** The spec comes with the process; one that is kept ready for a pane gets it later, and prepares itself meanwhile. */
async function specText(): Promise<string> {
  const text = Bun.stdin.text();
  if (!takeSpareSign() || !(await isStillSpare(text))) return text;
  const { rehearse } = await import("./rehearsal.ts");
  // Without it, the pane is only slower.
  await rehearse().catch(() => {});
  return text;
}

/** Whether a session of one pane has a status line, or its people are told of more than bells, which ring anyway. */
function isWatched({ status, alert, alert_for }: Settings): boolean {
  return status === "on" || (alert !== "off" && alert_for.some((kind) => kind !== "bell"));
}

function keepCheckpoints(
  { create, env, nofile, restored }: HostSpec,
  settings: Settings,
  { id, session: number, window }: SessionIds,
  {
    foreground,
    ...port
  }: Pick<CheckpointsPort, "session" | "instance" | "membership" | "logger" | "history"> & {
    readonly foreground: Foreground | null;
  },
): Checkpoints {
  const { pane } = port.session;
  const { command = null, shell = null } = create;
  const given = keptVariables(create.env);
  const start = {
    pane: id,
    session: number,
    window,
    program: { command, shell, display: pane.command, ...(given === undefined ? {} : { env: given }) },
    env: keptEnvironment({ ...env, ...create.env }),
    nofile,
  };
  const isRestored = restored !== undefined;
  const line = toResume(foreground, settings.restore_programs);
  if (line !== null) void resume(pane, line, port.logger);
  return new Checkpoints({ ...port, settings, start, isRestored, resumed: foreground });
}

/** Starts the session, and records that a command line did so. */
async function recorded(options: CreateOptions, audit: AuditLog | null): ReturnType<typeof createSession> {
  const { create } = options.spec;
  const began = performance.now();
  const session = create.name ?? undefined;
  const caller = { kind: "cli", id: "cli", name: "wsh", via: directly } as const;
  const context = { caller, ...(session === undefined ? {} : { session }) };
  let result = "ok";
  let reached: AuditRecord["reached"];
  try {
    const made = await createSession(options);
    reached = { id: made.session.id, pane_id: made.session.pane.id };
    return made;
  } catch (thrown) {
    result = WshError.from(thrown).code;
    throw thrown;
  } finally {
    const ms = performance.now() - began;
    const ids = reached === undefined ? {} : { reached };
    audit?.write({ operation: "sessions.create", input: create, context, ...ids, result, ms });
  }
}

/** Socket or lock was deleted, as with the whole runtime directory: the session lives on and takes its place again. */
async function registerAgain(
  instance: Instance,
  ids: SessionIds,
  files: { life: LifeLock },
  session: Session,
  server: SessionServer,
  logger: Logger,
  failed: Set<string>,
): Promise<void> {
  try {
    prepareRuntimeDir(instance);
    const ended = session.exit !== null;
    const claim = await restoreSession(
      instance,
      { ...ids, name: session.name, ended },
      files.life,
      (path) => void server.listen(path),
    );
    files.life = claim.life;
    session.renamedTo(claim.name);
    logger.warn("registered again after its socket or lock was deleted", { name: claim.name });
    failed.clear();
  } catch (error) {
    const { code } = WshError.from(error);
    if (failed.has(code)) return;
    failed.add(code);
    logger.error("the session cannot be reached: registering again failed", { error });
  }
}
