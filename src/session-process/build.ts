/**
 * Builds the session of this process from its spec: everything is checked before anything is claimed, and claimed
 * before anything runs. A failure leaves nothing behind.
 */

import { storableVariables } from "../checkpoints/files/environment.ts";
import { parseTree } from "../checkpoints/files/tree.ts";
import type { SessionServer } from "../endpoint/session-server.ts";
import { sessionSettings } from "../endpoint/session-settings.ts";
import { EventJournal } from "../events/journal.ts";
import { eventsDir } from "../events/segments.ts";
import { BufferFiles } from "../instance/buffer-files.ts";
import { hostname } from "../instance/hostname.ts";
import type { Instance } from "../instance/paths.ts";
import type { SessionSpec } from "../launch/session-spec.ts";
import type { AuditLog } from "../log/audit/audit-log.ts";
import type { Logger } from "../log/log.ts";
import { checkRequest } from "../pane/spawn-plan.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { type EventConsumer, isNotify } from "../protocol/event-consumers.ts";
import type { Hook, OwnedHook } from "../protocol/hooks.ts";
import { normalizeTags, paneId, paneNumber } from "../protocol/names.ts";
import { takesQuestions } from "../protocol/notices.ts";
import type { Owner } from "../protocol/owner.ts";
import { PORT_VARIABLE } from "../protocol/port-variable.ts";
import { requireInTime } from "../protocol/requests.ts";
import type { Worktree } from "../protocol/worktree.ts";
import type { LifeLock } from "../registry/life-lock.ts";
import { leaveAsCarrier, linkAll, releasePane } from "../registry/panes.ts";
import { leasePort } from "../registry/port-lease.ts";
import type { Claim } from "../registry/register.ts";
import { type KnownLinks, markEnded, markLive, releaseSession, renameSession } from "../registry/registry.ts";
import { Session } from "../session/session.ts";
import { settleSwap } from "../session/windows/order.ts";
import { oneWindow, paneEntry, takePane, type Windows } from "../session/windows/state.ts";
import type { Settings } from "../settings/table.ts";
import { broughtNames } from "../settings/terminal-variable-names.ts";
import { claimFor, claimRequest, type PaneRequest, type PlannedPane, planPane } from "./create.ts";
import { HookWaker } from "./events/hook-waker.ts";
import { Recorder } from "./events/recorder.ts";
import { recordSession } from "./events/session-events.ts";
import { TerminalNotices } from "./events/terminal-notices.ts";
import { PaneKeeper, type PaneKeeperPort } from "./pane-keeper.ts";
import { Arrangement } from "./panes/arrangement.ts";
import { Content } from "./panes/content.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import { WindowView } from "./panes/window-view.ts";
import { PersonFiles } from "./person-files.ts";
import { SessionProcess } from "./session-process.ts";
import { TmuxSocket } from "./tmux-socket.ts";

export interface BuildOptions {
  readonly spec: SessionSpec;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly server: SessionServer;
  readonly logger: Logger;
  readonly audit: () => AuditLog | null;
  /** A program printed, or a person has pressed the prefix key. Runs per chunk. */
  readonly activity: () => void;
  /** Current hooks and notices of the settings. */
  readonly eventConsumers: () => readonly EventConsumer[];
}

export interface BuiltSession {
  readonly sessionProcess: SessionProcess;
  readonly keeper: PaneKeeper;
  readonly life: LifeLock;
  readonly hooks: HookWaker;
  readonly personFiles: Disposable;
  readonly tmux: TmuxSocket;
  /** Its current entries in the registry. */
  links(): KnownLinks;
}

interface FirstPane {
  readonly request: PaneRequest;
  /** Null: the first pane of the process. */
  readonly id: number | null;
  readonly planned: PlannedPane;
}

/** @throws WshError of sessions.create; nothing is left behind then */
export async function buildSession(given: BuildOptions): Promise<BuiltSession> {
  if (given.spec.restored === undefined) await checkHooks(given.spec.create.on ?? []);
  const options = { ...given, spec: withPort(given) };
  const { spec } = options;
  const branch = spec.create.worktree ?? null;
  if (branch === null) return build(options, spec.restored?.worktree ?? null);
  const { makeWorktree } = await import("./worktree.ts");
  const cwd = checkRequest({ ...spec.create, caller: spec });
  const made = await makeWorktree(branch, { cwd, env: spec.env });
  try {
    return await build({ ...options, spec: { ...spec, create: { ...spec.create, cwd: made.cwd } } }, made.worktree);
  } catch (error) {
    await made.discard();
    throw error;
  }
}

/** @throws WshError invalid_request for the first operation line that is invalid */
async function checkHooks(hooks: readonly Hook[]): Promise<void> {
  if (hooks.every((hook) => hook.do === undefined)) return;
  const [{ lineCall }, { parseCommandLine, TARGET_PARAMETER }] = await Promise.all([
    import("../operations/line-input.ts"),
    import("../keys/line.ts"),
  ]);
  for (const [index, { do: line }] of hooks.entries()) {
    if (line === undefined) continue;
    try {
      lineCall(parseCommandLine(line), TARGET_PARAMETER);
    } catch (thrown) {
      const message = `on.${index}.do: ${WshError.from(thrown).message}`;
      throw new WshError("invalid_request", message, {}, { cause: thrown });
    }
  }
}

/** The environment of every program contains the leased port. A restored session gets its former port if it is free. */
function withPort({ spec, instance }: BuildOptions): SessionSpec {
  const { create, restored } = spec;
  const before = restored?.run === true ? create.env?.[PORT_VARIABLE] : undefined;
  if (create.port !== "free" && before === undefined) return spec;
  const port = String(leasePort(instance, before === undefined ? undefined : Number(before)));
  return { ...spec, create: { ...create, env: { ...create.env, PORT: port, [PORT_VARIABLE]: port } } };
}

async function build(options: BuildOptions, worktree: Worktree | null): Promise<BuiltSession> {
  const { spec, instance, settings, server } = options;
  const tags = normalizeTags(spec.create.tags);
  const first: FirstPane[] = [];
  for (const request of spec.split?.panes ?? [spec]) {
    const id = spec.split === undefined ? null : (request.restored?.pane ?? null);
    first.push({ request, id, planned: await planPane(request, { instance, settings }) });
  }
  let listener: { stop(): void } | null = null;
  const bind = (path: string): void => {
    listener = server.listen(path);
  };
  requireInTime(spec.deadline);
  const claimed = await claimRequest(instance, spec.once);
  const claim = await claimFor(spec, instance, settings, bind).catch((thrown) => {
    claimed?.undone();
    for (const { planned } of first) planned.discard();
    throw thrown;
  });
  if (claim.tooOld.length > 0) {
    const { evictEnded } = await import("./evict-ended.ts");
    void evictEnded(instance, claim.tooOld);
  }
  try {
    const built = await assemble(options, claim, tags, first, worktree);
    claimed?.made(built.sessionProcess.session.info());
    return built;
  } catch (error) {
    stopListening(listener);
    claimed?.undone();
    await releaseSession(instance, claim.id).catch(() => {});
    claim.life.discard();
    for (const { planned } of first) planned.discard();
    throw error;
  }
}

async function assemble(
  options: BuildOptions,
  claim: Claim,
  tags: readonly string[],
  first: readonly FirstPane[],
  worktree: Worktree | null,
): Promise<BuiltSession> {
  const { spec, instance, settings, logger } = options;
  const { rows, cols } = spec.create;
  const { restored } = spec;
  const tree = spec.split === undefined ? null : parseTree(spec.split.tree);
  const locals = new Map<string, LocalPane>();
  const area = { rows, cols };
  const arrangement: Arrangement = new Arrangement(
    firstWindows(spec, claim, first, tree?.windows ?? null, settings.base_index),
    area,
    {
      get keepAfterExit() {
        return settings.keep_after_exit;
      },
      get renumberFrom() {
        return settings.renumber_windows ? settings.base_index : null;
      },
      wasSplit: tree !== null,
      showsCrashed: restored?.run === false,
      layoutAt: (outer) => session.layoutAt(outer),
    },
  );
  let view: WindowView | null = null;
  const content: Content = new Content(
    arrangement,
    () => {
      view ??= new WindowView(arrangement, area, content);
      return view;
    },
    locals,
    () => settings.border_titles === "on" || (settings.border_titles === "auto" && settings.status !== "off"),
    settings,
  );
  const links = (): KnownLinks => {
    const { id, session: number, window } = claim;
    return { id, session: number, window, name: session.name, hasMore: arrangement.isSplit };
  };
  const session: Session<Content> = new Session<Content>(
    {
      id: claim.session,
      windowId: claim.window,
      name: claim.name,
      tags,
      private: spec.create.private,
      server: hostname(settings.hostname),
      buffers: new BufferFiles(instance),
      ...area,
      settings: sessionSettings(settings),
      env: storableVariables(spec.create.env),
      ...(restored === undefined ? {} : { createdAt: restored.created_at }),
      owner: ownerIn(spec),
      worktree: worktree ?? undefined,
      idleLimit: spec.create.idle_limit,
      hooks: spec.create.on,
      isNoticed: () =>
        options
          .eventConsumers()
          .some((way) => isNotify(way) && way.way !== "terminals" && takesQuestions(way, session)),
      ...(restored?.run === false ? { crashed: { saved_at: restored.saved_at, why: restored.why } } : {}),
    },
    content,
    {
      rename: (to) => renameSession(instance, claim.id, to),
      ended: (name) => markEnded(instance, { ...links(), name }),
      live: () => markLive(instance, claim.id),
      leave(name) {
        const home = keeper.guests[0]?.home;
        if (home == null) return releaseSession(instance, { ...links(), name });
        return leaveAsCarrier(instance, links(), home.number);
      },
    },
  );
  const isRead = restored?.run === false;
  const journal = new EventJournal(eventsDir(instance), (error) =>
    logger.warn("events are not recorded: the journal cannot be written", { error }),
  );
  const hooks = new HookWaker({ instance, logger, settings: options.eventConsumers, sessionHooks: hooksOf(spec) });
  const notices = new TerminalNotices({
    instance,
    logger,
    session,
    settings,
    notices: () => options.eventConsumers().filter(isNotify),
  });
  const recorder = new Recorder(session, journal, hooks, (event) => notices.happened(event));
  const identity = { byAgent: ownerIn(spec)?.kind === "agent", id: claim.id, session: claim.session };
  const tmux = new TmuxSocket({ instance, settings, logger, ...identity });
  const personFiles = new PersonFiles({ session, instance, settings, logger });
  const keeperPort: PaneKeeperPort = {
    session,
    arrangement,
    content,
    locals,
    instance,
    settings,
    logger,
    processId: claim.id,
    number: claim.session,
    env: spec.split === undefined ? { ...spec.env, ...spec.create.env } : (tree?.env ?? {}),
    nofile: spec.nofile,
    tmux,
    isRestored: restored !== undefined,
    showsCrashed: isRead,
    recorder,
    released: (id) => void releasePane(instance, claim.id, claim.session, id).catch(() => {}),
    printed: (bytes) => {
      options.activity();
      sessionProcess.printed(bytes);
    },
  };
  session.terminalVariables.setInitial(keeperPort.env, broughtNames(settings));
  const keeper = new PaneKeeper(keeperPort);
  const { env, nofile } = keeperPort;
  const sessionProcess: SessionProcess = new SessionProcess({
    session,
    arrangement,
    content,
    instance,
    settings,
    locals,
    env,
    nofile,
    processId: claim.id,
    number: claim.session,
    socket: claim.socket,
    view: content.shownView,
    adopt: (planned, made) => keeper.adopt(planned, made),
    keeper: () => keeper,
    audit: options.audit,
    eventConsumers: options.eventConsumers,
  });
  arrangement.events.on("lost", (pane) => {
    const recovered = import("./panes/lost-guest.ts").then((code) =>
      code.recoverGuest(sessionProcess, pane, keeperPort),
    );
    sessionProcess.recovering.set(pane, recovered);
    void recovered.finally(() => sessionProcess.recovering.delete(pane));
  });
  // Loading the code for the key's operation takes as long as a split itself, and less than the time until the next
  // key. Releasing memory would delay it.
  session.events.on("keyAwaited", () => {
    options.activity();
    void sessionProcess.load();
  });
  const startedByProgram = spec.starter === "server" || ownerIn(spec)?.kind === "agent";
  try {
    for (const { request, id, planned } of first) {
      const made = { id: id ?? claim.id, window: claim.window, request, startedByProgram, owner: ownerIn(spec) };
      arrangement.addLocal(await keeper.adopt(planned, made));
    }
    const drawn = tree === null ? first[0]?.planned.replayed?.record.elements : tree.elements;
    if (drawn !== undefined) {
      const { parsePersistent } = await import("../session/drawing/restored-elements.ts");
      session.elements.replaceState(parsePersistent(drawn));
    }
    await session.layOutPanes();
    arrangement.assignSizes();
    if (tree !== null) await linkRestoredViews(sessionProcess);
  } catch (error) {
    for (const local of locals.values()) void local.endProgram();
    throw error;
  }
  // Showing a crashed session creates none.
  if (!isRead) {
    recordSession(session, recorder, restored !== undefined);
    const limit = session.idleLimit;
    const isBound = spec.create.owner_bound === true;
    if (limit !== null || isBound) {
      const { endUnused, endWithOwner } = await import("./automatic-end.ts");
      const isSeen = restored !== undefined || session.owner?.kind === "person";
      if (limit !== null) endUnused(session, limit, isSeen);
      if (isBound) endWithOwner(session, spec.owner_process ?? null, isSeen);
    }
  }
  return { sessionProcess, keeper, life: claim.life, hooks, personFiles, tmux, links };
}

/** The hooks given at the session's creation: those of an agent run in its name. */
function hooksOf(spec: SessionSpec): readonly OwnedHook[] {
  const owner = ownerIn(spec);
  const hooks = spec.create.on ?? [];
  return owner?.kind === "agent" ? hooks.map((hook) => ({ ...hook, agent: owner.name })) : hooks;
}

/** The session's owner; a restored session keeps its owner. */
export function ownerIn({ restored, owner }: SessionSpec): Owner | undefined {
  return restored === undefined ? (owner ?? { kind: "person", name: "wsh" }) : restored.owner;
}

/** The session's first windows, without panes that cannot be restored. */
function firstWindows(
  spec: SessionSpec,
  claim: Claim,
  first: readonly FirstPane[],
  storedLayout: Windows | null,
  base: number,
): Windows {
  const env = storableVariables(spec.create.env);
  const pane = paneEntry(paneId(claim.id), defined({ env }));
  if (storedLayout === null) return oneWindow(claim.window, pane, base);
  const there = new Set(first.map(({ id }) => paneId(id ?? claim.id)));
  const isPresent = (pane: string): boolean => storedLayout.panes[pane]?.view != null || there.has(pane);
  return Object.keys(storedLayout.panes).reduce(
    (state, id) => {
      if (isPresent(id)) return state;
      return takePane(state, id, { rows: spec.create.rows, cols: spec.create.cols }) ?? state;
    },
    settleSwap(storedLayout, isPresent),
  );
}

/** Looks for the sources of views again after everything restored can be found: a missing one loses its place. */
async function linkRestoredViews(sessionProcess: SessionProcess): Promise<void> {
  const { arrangement, instance, number, processId: id } = sessionProcess;
  const { windows, panes } = arrangement.state;
  const own = Object.values(panes).flatMap((entry) => (entry.view === null ? [paneNumber(entry.id)] : []));
  await linkAll(instance, { id, session: number, panes: own, windows: windows.map((window) => window.id) });
  const { openView } = await import("./panes/view-pane.ts");
  for (const { id: pane, view } of Object.values(panes)) {
    if (view === null) continue;
    await openView(sessionProcess, view, arrangement.area).catch(() =>
      arrangement.change(() => arrangement.remove(pane, { code: null, signal: null })),
    );
  }
  arrangement.assignSizes();
}

function stopListening(listener: { stop(): void } | null): void {
  listener?.stop();
}
