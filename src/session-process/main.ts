/**
 * The session process: reads its spec from stdin, checks all of it, claims its place in the registry, starts the first
 * program, reports, and serves until the session ends. It ends with its session and leaves nothing behind; if its
 * runtime directory is deleted, it binds again.
 */

import * as v from "valibot";
import { SessionServer } from "../endpoint/session-server.ts";
import { prepareRuntimeDir, resolveInstance, sessionSocket } from "../instance/paths.ts";
import { reportFailure, reportReady } from "../launch/report.ts";
import { forgetEngineOptions } from "../launch/session-process.ts";
import { type SessionSpec, SessionSpecSchema } from "../launch/session-spec.ts";
import type { AuditLog, AuditRecord } from "../log/audit/audit-log.ts";
import { directAudit, directly } from "../log/audit/direct-audit.ts";
import { withOutcome } from "../log/audit/outcome.ts";
import { createLogger, type Logger } from "../log/log.ts";
import { agentOfStarter, knowAgents } from "../platform/agent-above.ts";
import { leavePane } from "../platform/child-limits.ts";
import { MemoryRelease } from "../platform/memory-release.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { paneNumber } from "../protocol/names.ts";
import type { Worktree } from "../protocol/worktree.ts";
import { beforeEachRead } from "../pty/turns.ts";
import type { LifeLock } from "../registry/life-lock.ts";
import { watchOwnFiles } from "../registry/own-files-watch.ts";
import { leaveAsCarrier, linkAll } from "../registry/panes.ts";
import { restoreSession } from "../registry/register.ts";
import { isLinked, releaseSession } from "../registry/registry.ts";
import { loadSettings, logLevelFor } from "../settings/settings.ts";
import type { Settings } from "../settings/table.ts";
import { takeWaitingKeys } from "../viewer/terminal/signalled-input.ts";
import { type BuildOptions, type BuiltSession, buildSession, ownerIn } from "./build.ts";
import { LiveSettings } from "./live-settings.ts";
import type { SessionProcess } from "./session-process.ts";

/** Longest time for the last checkpoint after SIGTERM, in ms: SIGKILL usually follows soon. */
const LAST_CHECKPOINT_MS = 1_000;
/** Time from the first attachment to loading the code for keys, in ms: the picture and the shell's prompt come first. */
const PRELOAD_DELAY_MS = 500;
/** Longest time for peers to read the last messages before the process ends, in ms. */
const FLUSH_MS = 2_000;

export async function runSessionProcess(): Promise<void> {
  forgetEngineOptions();
  let started: Awaited<ReturnType<typeof startSession>>;
  try {
    started = await startSession();
  } catch (error) {
    reportFailure(error);
    // An exit code is not enough: resources that were bound before the failure would keep the process alive.
    process.exit(1);
  }
  const { built, server, logger, warnings } = started;
  const { sessionProcess, keeper, links } = built;
  const { session, instance } = sessionProcess;
  const wasOnlyShown = session.info().crashed !== undefined;
  reportReady({ info: session.info(), warnings });
  const sessionEnded = Promise.withResolvers<void>();
  session.events.on("destroyed", () => sessionEnded.resolve());
  let isRegistering = false;
  // The reason for a failure is logged once, however often it is retried.
  const reportedFailures = new Set<string>();
  const { processId } = sessionProcess;
  const ownFiles = {
    socket: sessionSocket(instance, processId),
    life: built.life,
    isLinked: () => isLinked(instance, processId),
  };
  using _watcher = watchOwnFiles(ownFiles, () => {
    if (isRegistering || session.lifetime.isEnding || session.lifetime.isOver) return;
    isRegistering = true;
    void registerAgain(built, ownFiles, server, logger, reportedFailures).finally(() => {
      isRegistering = false;
    });
  });
  // Catches the errors that no pane's own guard catches: one of them would end every pane.
  for (const event of ["uncaughtException", "unhandledRejection"] as const)
    process.on(event, (error) => {
      logger.error("an internal error in the session, which continues", { error });
      // An error during its end must not prevent the end.
      if (session.lifetime.isOver) sessionEnded.resolve();
    });
  for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => {});
  // Usually the machine is shutting down or the login ends: the session can be restored.
  process.on("SIGTERM", () => {
    void Promise.race([keeper.saveLast("SIGTERM"), Bun.sleep(LAST_CHECKPOINT_MS)]).then(() =>
      session.lifetime.kill("killed"),
    );
  });
  await sessionEnded.promise;
  // The process ends even if a step of its end fails.
  const attemptStep = async (step: () => unknown): Promise<void> => {
    try {
      await step();
    } catch (error) {
      logger.warn("the session's end has left something behind", { error });
    }
  };
  // A write in progress would recreate files that the session's end has removed.
  await attemptStep(() => Promise.race([keeper.whenWritten(), Bun.sleep(LAST_CHECKPOINT_MS)]));
  await attemptStep(() => sessionProcess.dispose());
  const [firstGuest] = keeper.guests;
  if (firstGuest?.adoptedBy != null) {
    const { number } = firstGuest.adoptedBy;
    await attemptStep(() => leaveAsCarrier(instance, links(), number));
    server.dismiss();
    await attemptStep(() => keeper.whenGuestsEnded());
  }
  await attemptStep(() => keeper.dispose());
  await attemptStep(() => started.built.terminalVariableFiles[Symbol.dispose]());
  // A crashed session that is only shown has not ended.
  if (!wasOnlyShown) await attemptStep(() => removeOwnWorktree(session, logger));
  // The last hooks need a server, which may be starting.
  await attemptStep(() => Promise.race([started.built.hooks.whenStarted(), Bun.sleep(LAST_CHECKPOINT_MS)]));
  await attemptStep(() => releaseSession(instance, firstGuest === undefined ? links() : sessionProcess.processId));
  await attemptStep(() => ownFiles.life.discard());
  await attemptStep(() => server.flush(FLUSH_MS));
  await attemptStep(() => started.built.tmux.flush(FLUSH_MS));
  process.exit(0);
}

/** Makes commands of the status line act for the agent that made the session or chose its settings. */
function actForAgent(agent: string | null): void {
  leavePane();
  if (agent === null) delete process.env.WSH_AGENT;
  else process.env.WSH_AGENT = agent;
}

/** An agent owns all that it starts, regardless of the owners that the specification names. */
function withAgentAsOwner(agent: string | null, spec: SessionSpec): SessionSpec {
  if (agent === null) return spec;
  const owner = { kind: "agent", name: agent } as const;
  const { restored, split } = spec;
  const owners = { owner, pane_owner: owner };
  const panes = split?.panes.map((pane) => ({ ...pane, restored: { ...pane.restored, ...owners } }));
  return {
    ...spec,
    owner,
    ...(restored === undefined ? {} : { restored: { ...restored, ...owners } }),
    ...(split === undefined || panes === undefined ? {} : { split: { ...split, panes } }),
  };
}

async function startSession(): Promise<{
  built: BuiltSession;
  server: SessionServer;
  logger: Logger;
  /** Warnings about the settings, for the starting process. */
  warnings: readonly string[];
}> {
  const receivedSpec = v.parse(SessionSpecSchema, await Bun.stdin.json());
  const instance = resolveInstance({ flags: { socket: receivedSpec.socket }, env: process.env });
  const loaded = loadSettings(instance, { env: process.env, tolerant: true });
  const { warnings } = loaded;
  let servedSession: SessionProcess["session"] | null = null;
  let lastFault = "";
  const liveSettings = new LiveSettings(instance, loaded, (fault) => {
    lastFault = fault;
    servedSession?.notice.show(fault);
  });
  const settings = liveSettings.values;
  knowAgents(settings.agents);
  const spec = withAgentAsOwner(agentOfStarter(), receivedSpec);
  const owner = ownerIn(spec);
  actForAgent(owner?.kind === "agent" ? owner.name : loaded.agent);
  const logger = createLogger({ level: logLevelFor("session", loaded), format: settings.log_format });
  const audit = directAudit(instance, settings);
  const server = new SessionServer(
    { clients: settings.max_clients, waiters: settings.max_waiters },
    { instance, settings, reload: (input) => liveSettings.answerReload(input) },
    audit,
  );
  beforeEachRead(takeWaitingKeys);
  const memory = new MemoryRelease();
  memory.activity();
  const options = {
    spec,
    instance,
    settings,
    server,
    logger,
    noteActivity: () => memory.activity(),
    eventConsumers: () => liveSettings.eventConsumers,
    audit,
  };
  // A server records its own calls.
  const built = await (spec.starter === "server" ? buildSession(options) : buildWithAudit(options, audit()));
  const { sessionProcess } = built;
  server.serve(sessionProcess);
  servedSession = sessionProcess.session;
  preloadForKeys(sessionProcess);
  if (loaded.isWrong) servedSession.notice.show(warnings.at(-1) ?? "");
  startStatusLineWhenNeeded(sessionProcess, liveSettings, logger);
  let { agents_may } = settings;
  liveSettings.onChanged(() => {
    sessionProcess.session.notice.withdraw(lastFault);
    applySettings(sessionProcess);
    // Other changes end no call that a person has allowed once.
    if (settings.agents_may !== agents_may) server.permissionsChanged();
    ({ agents_may } = settings);
  });
  sessionProcess.session.events.on("destroyed", () => liveSettings[Symbol.dispose]());
  const { id, name } = sessionProcess.session;
  return { built, server, logger: logger.with({ session: name, id }), warnings };
}

/** Removes the worktree that was created for the session. */
async function removeOwnWorktree({ worktree }: { readonly worktree: Worktree | null }, logger: Logger): Promise<void> {
  if (worktree === null) return;
  const { removeWorktree } = await import("./worktree.ts");
  if (await removeWorktree(worktree)) return;
  logger.info("the session's worktree is kept: it has changes, or a program works there", { path: worktree.path });
}

/**
 * Loads the code that a person's keys may need, soon after the first terminal has attached. Otherwise the first
 * split took twice as long as the next (measured).
 */
function preloadForKeys(sessionProcess: SessionProcess): void {
  const { session, settings } = sessionProcess;
  const preload = (): void => {
    void sessionProcess.loadOperations();
    void import("../viewer/calls/permitted-targets.ts");
    if (settings.status !== "off") void import("../viewer/status/status-line.ts");
  };
  const unsubscribe = session.events.on("viewer", () => {
    unsubscribe();
    setTimeout(preload, PRELOAD_DELAY_MS).unref();
  });
}

/** Starts the status line, which notifies people of events in windows, once the settings and the layout call for it. */
function startStatusLineWhenNeeded(sessionProcess: SessionProcess, liveSettings: LiveSettings, logger: Logger): void {
  const { session, arrangement } = sessionProcess;
  const settings: Settings = liveSettings.values;
  let isStarted = false;
  const startIfNeeded = async (): Promise<void> => {
    const { status, alert, alert_for } = settings;
    // The bells of a single pane reach the terminals in any case.
    const isWantedForOnePane = status === "on" || (alert !== "off" && alert_for.some((kind) => kind !== "bell"));
    const isWanted = arrangement.isSplit ? status !== "off" || alert !== "off" : isWantedForOnePane;
    if (isStarted || !isWanted) return;
    isStarted = true;
    const { StatusLine } = await import("../viewer/status/status-line.ts");
    const statusLine = new StatusLine(session, settings, {
      socket: sessionProcess.socket,
      failed: (command, reason) =>
        logger.warn("a command of the status line fails", { session: session.name, command, reason }),
    });
    liveSettings.onChanged(() => statusLine.changed());
    arrangement.events.on("listingChanged", () => statusLine.paneChanged());
    arrangement.events.on("bellRang", (pane) => arrangement.isSplit && statusLine.bellRang(pane));
    arrangement.events.on("rendered", (pane) => statusLine.paneRendered(pane));
    session.events.on("destroyed", () => statusLine[Symbol.dispose]());
  };
  arrangement.events.on("changed", () => void startIfNeeded());
  liveSettings.onChanged(() => void startIfNeeded());
  void startIfNeeded();
}

/** Applies new settings: everything is redrawn, and terminals are notified. */
function applySettings({ session, arrangement }: SessionProcess): void {
  arrangement.assignSizes();
  void session.resize().catch(() => {});
  session.events.emit("drawn", undefined);
  for (const viewer of session.viewers.all) viewer.settingsChanged();
}

/** Starts the session, and records that a command line did so. */
async function buildWithAudit(options: BuildOptions, audit: AuditLog | null): Promise<BuiltSession> {
  const { create } = options.spec;
  const session = create.name ?? undefined;
  const caller = { kind: "cli", id: "cli", name: "wsh", via: directly } as const;
  const context = { caller, ...defined({ session }) };
  let reached: AuditRecord["reached"];
  const build = async (): Promise<BuiltSession> => {
    const built = await buildSession(options);
    reached = { id: built.sessionProcess.session.id, pane_id: built.sessionProcess.paneId };
    return built;
  };
  return withOutcome(build, (outcome) => {
    audit?.write({ operation: "sessions.create", input: create, context, ...defined({ reached }), ...outcome });
  });
}

/** Registers the session again after its socket or lock was deleted, for example with the whole runtime directory. */
async function registerAgain(
  { sessionProcess, tmux, links }: BuiltSession,
  files: { life: LifeLock },
  server: SessionServer,
  logger: Logger,
  reportedFailures: Set<string>,
): Promise<void> {
  const { session, instance, arrangement, localPanes } = sessionProcess;
  try {
    prepareRuntimeDir(instance);
    const ids = links();
    const ended = session.exit !== null;
    const claim = await restoreSession(instance, { ...ids, ended }, files.life, (path) => void server.listen(path));
    files.life = claim.life;
    tmux.listenAgain();
    session.setName(claim.name);
    if (arrangement.isSplit) {
      const panes = [...localPanes.keys()].map((pane) => paneNumber(pane));
      const windows = arrangement.state.windows.map(({ id }) => id);
      await linkAll(instance, { id: sessionProcess.processId, session: sessionProcess.sessionNumber, panes, windows });
    }
    logger.warn("registered again after its socket or lock was deleted", { name: claim.name });
    reportedFailures.clear();
  } catch (error) {
    const { code } = WshError.from(error);
    if (reportedFailures.has(code)) return;
    reportedFailures.add(code);
    logger.error("the session cannot be reached: registering again failed", { error });
  }
}
