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
import { claimRequest, type PaneRequest, type PlannedPane, planPane, registerSession } from "./create.ts";
import { HookWaker } from "./events/hook-waker.ts";
import { Recorder } from "./events/recorder.ts";
import { recordSession } from "./events/session-events.ts";
import { TerminalNotices } from "./events/terminal-notices.ts";
import { PaneKeeper, type PaneKeeperPort } from "./pane-keeper.ts";
import { Arrangement } from "./panes/arrangement.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import { SessionContent } from "./panes/session-content.ts";
import { WindowView } from "./panes/window-view.ts";
import { SessionProcess } from "./session-process.ts";
import { TerminalVariableFiles } from "./terminal-variable-files.ts";
import { TmuxSocket } from "./tmux-socket.ts";

export interface BuildOptions {
  readonly spec: SessionSpec;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly server: SessionServer;
  readonly logger: Logger;
  readonly audit: () => AuditLog | null;
  /** Call when a program prints or a person presses the prefix key. Runs per chunk. */
  readonly noteActivity: () => void;
  /** Current hooks and notices of the settings. */
  readonly eventConsumers: () => readonly EventConsumer[];
}

export interface BuiltSession {
  readonly sessionProcess: SessionProcess;
  readonly keeper: PaneKeeper;
  readonly life: LifeLock;
  readonly hooks: HookWaker;
  readonly terminalVariableFiles: Disposable;
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
export async function buildSession(initialOptions: BuildOptions): Promise<BuiltSession> {
  if (initialOptions.spec.restored === undefined) await checkHooks(initialOptions.spec.create.on ?? []);
  const options = { ...initialOptions, spec: withPort(initialOptions) };
  const { spec } = options;
  const branch = spec.create.worktree ?? null;
  if (branch === null) return build(options, spec.restored?.worktree ?? null);
  const { prepareWorktree } = await import("./worktree.ts");
  const cwd = checkRequest({ ...spec.create, caller: spec });
  const newWorktree = await prepareWorktree(branch, { cwd, env: spec.env });
  try {
    return await build(
      { ...options, spec: { ...spec, create: { ...spec.create, cwd: newWorktree.cwd } } },
      newWorktree.worktree,
    );
  } catch (error) {
    await newWorktree.discard();
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
  const formerPort = restored?.run === true ? create.env?.[PORT_VARIABLE] : undefined;
  if (create.port !== "free" && formerPort === undefined) return spec;
  const port = String(leasePort(instance, formerPort === undefined ? undefined : Number(formerPort)));
  return { ...spec, create: { ...create, env: { ...create.env, PORT: port, [PORT_VARIABLE]: port } } };
}

async function build(options: BuildOptions, worktree: Worktree | null): Promise<BuiltSession> {
  const { spec, instance, settings, server } = options;
  const tags = normalizeTags(spec.create.tags);
  const firstPanes: FirstPane[] = [];
  for (const request of spec.split?.panes ?? [spec]) {
    const id = spec.split === undefined ? null : (request.restored?.pane ?? null);
    firstPanes.push({ request, id, planned: await planPane(request, { instance, settings }) });
  }
  let listener: { stop(): void } | null = null;
  const bind = (path: string): void => {
    listener = server.listen(path);
  };
  requireInTime(spec.deadline);
  const requestClaim = await claimRequest(instance, spec.once);
  const claim = await registerSession(spec, instance, settings, bind).catch((thrown) => {
    requestClaim?.undone();
    for (const { planned } of firstPanes) planned.discard();
    throw thrown;
  });
  if (claim.tooOld.length > 0) {
    const { evictEnded } = await import("./evict-ended.ts");
    void evictEnded(instance, claim.tooOld);
  }
  try {
    const builtSession = await assemble(options, claim, tags, firstPanes, worktree);
    requestClaim?.made(builtSession.sessionProcess.session.info());
    return builtSession;
  } catch (error) {
    stopListening(listener);
    requestClaim?.undone();
    await releaseSession(instance, claim.id).catch(() => {});
    claim.life.discard();
    for (const { planned } of firstPanes) planned.discard();
    throw error;
  }
}

async function assemble(
  options: BuildOptions,
  claim: Claim,
  tags: readonly string[],
  firstPanes: readonly FirstPane[],
  worktree: Worktree | null,
): Promise<BuiltSession> {
  const { spec, instance, settings, logger } = options;
  const { rows, cols } = spec.create;
  const { restored } = spec;
  const tree = spec.split === undefined ? null : parseTree(spec.split.tree);
  const localPanes = new Map<string, LocalPane>();
  const area = { rows, cols };
  const arrangement: Arrangement = new Arrangement(
    firstWindows(spec, claim, firstPanes, tree?.windows ?? null, settings.base_index),
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
  const content: SessionContent = new SessionContent(
    arrangement,
    () => {
      view ??= new WindowView(arrangement, area, content);
      return view;
    },
    localPanes,
    () => settings.border_titles === "on" || (settings.border_titles === "auto" && settings.status !== "off"),
    settings,
  );
  const links = (): KnownLinks => {
    const { id, session: number, window } = claim;
    return { id, session: number, window, name: session.name, hasMore: arrangement.isSplit };
  };
  const session: Session<SessionContent> = new Session<SessionContent>(
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
        const adoptingSession = keeper.guests[0]?.adoptedBy;
        if (adoptingSession == null) return releaseSession(instance, { ...links(), name });
        return leaveAsCarrier(instance, links(), adoptingSession.number);
      },
    },
  );
  const isOnlyShown = restored?.run === false;
  const journal = new EventJournal(eventsDir(instance), (error) =>
    logger.warn("events are not recorded: the journal cannot be written", { error }),
  );
  const hooks = new HookWaker({
    instance,
    logger,
    eventConsumers: options.eventConsumers,
    sessionHooks: hooksOf(spec),
  });
  const notices = new TerminalNotices({
    instance,
    logger,
    session,
    settings,
    notices: () => options.eventConsumers().filter(isNotify),
  });
  const recorder = new Recorder(session, journal, hooks, (event) => notices.handleEvent(event));
  const identity = { byAgent: ownerIn(spec)?.kind === "agent", processId: claim.id, sessionNumber: claim.session };
  const tmux = new TmuxSocket({ instance, settings, logger, ...identity });
  const terminalVariableFiles = new TerminalVariableFiles({ session, instance, settings, logger });
  const keeperPort: PaneKeeperPort = {
    session,
    arrangement,
    content,
    localPanes,
    instance,
    settings,
    logger,
    processId: claim.id,
    sessionNumber: claim.session,
    env: spec.split === undefined ? { ...spec.env, ...spec.create.env } : (tree?.env ?? {}),
    nofile: spec.nofile,
    tmux,
    isRestored: restored !== undefined,
    showsCrashed: isOnlyShown,
    recorder,
    paneReleased: (id) => void releasePane(instance, claim.id, claim.session, id).catch(() => {}),
    outputPrinted: (bytes) => {
      options.noteActivity();
      sessionProcess.countOutput(bytes);
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
    localPanes,
    env,
    nofile,
    processId: claim.id,
    sessionNumber: claim.session,
    socket: claim.socket,
    view: content.shownView,
    createPane: (planned, made) => keeper.createPane(planned, made),
    keeper: () => keeper,
    audit: options.audit,
    eventConsumers: options.eventConsumers,
  });
  arrangement.events.on("paneEnded", ({ pane }) => session.questions.handleProgramEnd(pane));
  arrangement.events.on("processLost", (pane) => {
    const recovered = import("./panes/recover-guest.ts").then((code) =>
      code.recoverLostGuest(sessionProcess, pane, keeperPort),
    );
    sessionProcess.recovering.set(pane, recovered);
    void recovered.finally(() => sessionProcess.recovering.delete(pane));
  });
  // Loading the code for the key's operation takes as long as a split, and less than the time until the next key.
  // Releasing memory meanwhile would delay it.
  session.events.on("keyAwaited", () => {
    options.noteActivity();
    void sessionProcess.loadOperations();
  });
  const startedByProgram = spec.starter === "server" || ownerIn(spec)?.kind === "agent";
  try {
    for (const { request, id, planned } of firstPanes) {
      const registration = {
        id: id ?? claim.id,
        window: claim.window,
        request,
        startedByProgram,
        owner: request.restored?.pane_owner ?? ownerIn(spec),
      };
      arrangement.addLocal(await keeper.createPane(planned, registration));
    }
    const storedElements = tree === null ? firstPanes[0]?.planned.replay?.record.elements : tree.elements;
    if (storedElements !== undefined) {
      const { parsePersistent } = await import("../session/drawing/restored-elements.ts");
      session.elements.restore(parsePersistent(storedElements));
    }
    await session.layOutPanes();
    arrangement.assignSizes();
    if (tree !== null) await linkRestoredViews(sessionProcess);
  } catch (error) {
    for (const local of localPanes.values()) void local.endProgram();
    throw error;
  }
  // A crashed session that is only shown was not created.
  if (!isOnlyShown) {
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
  return { sessionProcess, keeper, life: claim.life, hooks, terminalVariableFiles, tmux, links };
}

/** The hooks from the session's creation. An agent's hooks run in the agent's name. */
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
  firstPanes: readonly FirstPane[],
  storedLayout: Windows | null,
  baseIndex: number,
): Windows {
  const env = storableVariables(spec.create.env);
  const pane = paneEntry(paneId(claim.id), defined({ env }));
  if (storedLayout === null) return oneWindow(claim.window, pane, baseIndex);
  const presentPanes = new Set(firstPanes.map(({ id }) => paneId(id ?? claim.id)));
  const isPresent = (pane: string): boolean => storedLayout.panes[pane]?.view != null || presentPanes.has(pane);
  return Object.keys(storedLayout.panes).reduce(
    (state, id) => {
      if (isPresent(id)) return state;
      return takePane(state, id, { rows: spec.create.rows, cols: spec.create.cols }) ?? state;
    },
    settleSwap(storedLayout, isPresent),
  );
}

/** Reopens the views once everything restored can be found. A view whose source is missing leaves the layout. */
async function linkRestoredViews(sessionProcess: SessionProcess): Promise<void> {
  const { arrangement, instance, sessionNumber, processId: id } = sessionProcess;
  const { windows, panes } = arrangement.state;
  const ownPanes = Object.values(panes).flatMap((entry) => (entry.view === null ? [paneNumber(entry.id)] : []));
  await linkAll(instance, { id, session: sessionNumber, panes: ownPanes, windows: windows.map((window) => window.id) });
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
