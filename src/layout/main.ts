/**
 * The layout process: serves a session that has several panes, each of which is a process of its own. It is started by
 * the process of a session's only pane, from which it takes over the session's name and everything that is not of one
 * pane alone; or by the oldest pane of a session whose layout process was lost. It ends with its session.
 */
import * as v from "valibot";
import { useTheme } from "../compositor/theme.ts";
import { SessionServer } from "../endpoint/session-server.ts";
import { sessionSettings } from "../endpoint/session-settings.ts";
import { StatusLine } from "../endpoint/status/status-line.ts";
import { directAudit } from "../instance/audit/direct-audit.ts";
import { hostname } from "../instance/hostname.ts";
import { type LayoutSpec, LayoutSpecSchema } from "../instance/launch/layout-spec.ts";
import { reportFailure, reportReady } from "../instance/launch/report.ts";
import { createLogger } from "../instance/log/log.ts";
import { hostSocket, prepareRuntimeDir, resolveInstance } from "../instance/paths.ts";
import { claimSocket, handOverSession, memberSockets, takeOverSession } from "../instance/registry/members.ts";
import { watchOwnFiles } from "../instance/registry/own-files-watch.ts";
import { restoreSession } from "../instance/registry/register.ts";
import { markEnded, markLive, releaseSession, renameSession } from "../instance/registry/registry.ts";
import { changedLooks, loadSettings, logLevelFor } from "../instance/settings/settings.ts";
import { GiveBack } from "../platform/memory-release.ts";
import { takeShortTurns } from "../platform/scheduling.ts";
import { WshError } from "../protocol/errors.ts";
import { paneId } from "../protocol/names.ts";
import type { ElementState } from "../session/drawing/element.ts";
import { parseKept } from "../session/drawing/kept.ts";
import type { KeyboardState } from "../session/keyboard.ts";
import type { QuestionsState } from "../session/questions/types.ts";
import { Session } from "../session/session.ts";
import { oneWindow, paneEntry, type Windows } from "../session/windows/state.ts";
import { endProcesses } from "../wire/end-processes.ts";
import { Arrangement } from "./arrangement.ts";
import { LayoutCheckpoint } from "./checkpoint.ts";
import { Content } from "./content.ts";
import { PaneStarter } from "./pane-starter.ts";
import { reachAll } from "./reach.ts";
import { SplitSession } from "./split-session.ts";
import { parseTree, readTree, removeLeftTrees, removeTree, type Stored, writeTree } from "./tree-file.ts";
import { WindowView } from "./view.ts";

/** Longest time for the last checkpoints when the process is told to end, in ms: whoever does so kills it soon. */
const LAST_MS = 1_500;
/** Longest time for peers to read the last messages before the process ends, in ms. */
const FLUSH_MS = 2_000;

export async function runLayout(): Promise<void> {
  takeShortTurns(true);
  let begun: Awaited<ReturnType<typeof begin>>;
  try {
    begun = await begin();
  } catch (error) {
    reportFailure(error);
    process.exit(1);
  }
  const { session, server, instance, bound, logger, split, checkpoint } = begun;
  reportReady({ socket: bound.socket });
  const memory = new GiveBack();
  memory.worked();
  split.arrangement.events.on("painted", () => memory.worked());
  const over = Promise.withResolvers<void>();
  session.events.on("destroyed", () => over.resolve());
  const ids = { id: bound.id, session: split.number, window: split.firstWindow };
  const files = { socket: hostSocket(instance, bound.id), life: bound.life };
  let restoring = false;
  using _watcher = watchOwnFiles(files, () => {
    if (restoring || session.lifetime.isEnding || session.lifetime.isOver) return;
    restoring = true;
    void registerAgain().finally(() => {
      restoring = false;
    });
  });
  async function registerAgain(): Promise<void> {
    try {
      prepareRuntimeDir(instance);
      const own = { ...ids, name: session.name, ended: session.exit !== null };
      const claim = await restoreSession(instance, own, files.life, (path) => void server.listen(path));
      files.life = claim.life;
      session.renamedTo(claim.name);
      logger.warn("registered again after its socket or lock was deleted", { name: claim.name });
    } catch (error) {
      logger.error("the session cannot be reached: registering again failed", { error });
    }
  }
  for (const signal of ["SIGHUP", "SIGINT"] as const) process.on(signal, () => {});
  process.on("SIGTERM", () => {
    void Promise.race([checkpoint.lastOf("SIGTERM"), Bun.sleep(LAST_MS)]).then(() => session.lifetime.kill("killed"));
  });
  await over.promise;
  // A write under way would leave what the session's end has removed.
  await Promise.race([checkpoint.settled(), Bun.sleep(LAST_MS)]);
  split.dispose();
  removeTree(instance, split.number);
  await releaseSession(instance, { ...ids, name: session.name }).catch((error) =>
    logger.warn("the session's files could not be removed", { error }),
  );
  files.life.discard();
  await server.flush(FLUSH_MS);
  process.exit(0);
}

async function begin() {
  const spec = v.parse(LayoutSpecSchema, await Bun.stdin.json());
  const instance = resolveInstance({ flags: { socket: spec.socket }, env: process.env });
  const { values: settings, ...loaded } = loadSettings(instance, { env: process.env, tolerant: true });
  useTheme(changedLooks(loaded.theme));
  const logger = createLogger({
    level: logLevelFor("host", { values: settings, ...loaded }),
    format: settings.log_format,
  });
  const server = new SessionServer(
    { clients: settings.max_clients, waiters: settings.max_waiters },
    {
      instance,
      titles: settings.title === "on",
      clipboard: settings.clipboard === "write",
      agentAlert: settings.agent_alert,
      mouse: settings.mouse,
    },
    directAudit(instance, settings),
  );
  const { handed } = spec;
  const lost =
    handed === null ? (spec.tree === undefined ? readTree(instance, spec.session) : parseTree(spec.tree)) : null;
  const start = lost ?? beginningOf(spec);
  let listener: { stop(): void } | null = null;
  const bound = await claimSocket(instance, (path) => {
    listener = server.listen(path);
  });
  try {
    if (lost !== null) {
      // Before any pane is told: of two that were started, one alone has the session, and the other has touched nothing.
      const windows = lost.windows.windows.map(({ id }) => id);
      await takeOverSession(instance, { ...lost, id: lost.host, windows }, bound.id);
    }
    const area = { rows: start.rows, cols: start.cols };
    let save = (_: Windows): void => {};
    const arrangement = new Arrangement(start.windows, area, {
      keepAfterExit: settings.keep_after_exit,
      layoutAt: (outer) => session.layoutAt(outer),
      save: (windows) => save(windows),
      served: () => ({
        socket: bound.socket,
        session: start.session,
        name: session.name,
        private: session.isPrivate,
      }),
    });
    let view: WindowView | null = null;
    const content = new Content(
      arrangement,
      () => {
        view ??= new WindowView(arrangement, area, content);
        return view;
      },
      () => endProcesses(memberSockets(instance, start.session), { reason: "killed" }),
      settings.border_titles === "on" || (settings.border_titles === "auto" && settings.status !== "off"),
    );
    const { session: number, name } = start;
    const session = new Session<Content>(
      {
        id: number,
        windowId: start.windows.windows[0]?.id ?? 0,
        name,
        tags: start.tags,
        private: start.private,
        server: hostname(settings.hostname),
        ...area,
        settings: sessionSettings(settings),
        createdAt: start.created_at,
      },
      content,
      {
        rename: (to) => renameSession(instance, bound.id, to),
        ended: (known) =>
          markEnded(instance, { id: bound.id, session: number, window: split.firstWindow, name: known }),
        live: () => markLive(instance, bound.id),
        leave: (known) =>
          releaseSession(instance, { id: bound.id, session: number, window: split.firstWindow, name: known }),
      },
    );
    session.elements.takeOver(spec.tree === undefined ? start.elements : parseKept(start.elements));
    session.buffers.takeOver(handed?.buffers ?? []);
    if (handed !== null) session.taken.takeOver(handed.taken);
    await session.layOut();
    await reachAll({ arrangement, instance, logger });
    if (handed !== null) {
      session.keyboard.takeOver(handed.keyboard as KeyboardState);
      session.questions.takeOver(handed.questions as QuestionsState);
    }
    const starter = new PaneStarter({
      instance,
      session: number,
      socket: bound.socket,
      env: start.env,
      nofile: start.nofile,
      maxPanes: settings.max_panes,
      maxAll: settings.max_all_panes,
      spare: settings.spare_pane,
      name: () => session.name,
      isPrivate: () => session.isPrivate,
      viewerEnv: () => session.viewers.environment,
    });
    const split = new SplitSession({
      session,
      arrangement,
      content,
      starter,
      instance,
      host: bound.id,
      number,
      view: content.shownView,
      saveTo: (folder) => checkpoint.saveTo(folder),
    });
    const stored = (windows: Windows): Stored => ({
      ...{ host: bound.id, session: number, name: session.name, tags: session.tags, created_at: session.createdAt },
      ...{
        private: session.isPrivate,
        ...session.size,
        elements: session.elements.handOver(),
        windows,
        env: start.env,
        nofile: start.nofile,
      },
    });
    if (settings.status !== "off" || settings.alert !== "off") {
      const status = new StatusLine(session, settings);
      arrangement.events.on("rang", (pane) => status.rang(pane));
      arrangement.events.on("painted", (pane) => status.painted(pane));
      session.events.on("destroyed", () => status[Symbol.dispose]());
    }
    save = (windows) => writeTree(instance, stored(windows));
    save(arrangement.state);
    split.onChange(() => save(arrangement.state));
    server.serve(split.served());
    removeLeftTrees(instance);
    if (lost === null) {
      const { pane } = handed ?? { pane: 0 };
      await handOverSession(instance, { id: pane, session: number, window: split.firstWindow, name }, bound.id);
    }
    const named = logger.with({ session: name, id: session.id });
    const checkpoint = new LayoutCheckpoint({
      ...{ session, arrangement, instance, settings, logger: named },
      isSuccessor: lost !== null && spec.tree === undefined,
      goesOn: lost !== null,
      stored: () => stored(arrangement.state),
    });
    return { session, server, instance, bound, logger: named, split, checkpoint };
  } catch (error) {
    stop(listener);
    if (lost === null) removeTree(instance, spec.session);
    await releaseSession(instance, bound.id).catch(() => {});
    bound.life.discard();
    throw error;
  }
}

function stop(listener: { stop(): void } | null): void {
  listener?.stop();
}

/** The session as its only pane's process hands it over. @throws WshError invalid_request without one */
function beginningOf({ handed, env, nofile }: LayoutSpec): Stored {
  if (handed === null) throw new WshError("invalid_request", "no session was handed over");
  const { session, name, tags, private: isPrivate, created_at, rows, cols, window, pane, pane_env, drawing } = handed;
  const windows = oneWindow(window, paneEntry(paneId(pane), pane_env === undefined ? {} : { env: pane_env }));
  return {
    host: 0,
    session,
    name,
    tags,
    private: isPrivate,
    created_at,
    rows,
    cols,
    elements: drawing as ElementState,
    windows,
    env,
    nofile,
  };
}
