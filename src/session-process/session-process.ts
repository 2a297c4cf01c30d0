/**
 * A session with all its programs, as its socket serves it: requests go to handlers of the session, its windows or a
 * pane; terminals show a window; events of windows and panes are reported.
 */
import * as v from "valibot";
import { SaveToSchema, unfinishedDir } from "../checkpoints/files/named.ts";
import { findRunningPrograms } from "../endpoint/operations/running.ts";
import type {
  BindingContext,
  ClientStreams,
  ServedSession,
  StreamedWindow,
  WatcherReports,
} from "../endpoint/served-session.ts";
import type { Instance } from "../instance/paths.ts";
import type { Binding } from "../keys/bindings.ts";
import type { AuditLog } from "../log/audit/audit-log.ts";
import { peerRequest } from "../operations/peer-requests.ts";
import { addressesPane, endsOf, isForPane } from "../operations/routing.ts";
import { WshError } from "../protocol/errors.ts";
import { formatTarget, paneNumber, parseTarget, sessionId, type Target, windowId } from "../protocol/names.ts";
import type { Size } from "../protocol/size.ts";
import { meantWindow } from "../protocol/window-target.ts";
import { claimPane, linkWindow, releasePane } from "../registry/panes.ts";
import type { Session } from "../session/session.ts";
import type { Submission } from "../session/submitted-lines.ts";
import { mayAsk, type PriorQuestion, priorQuestion } from "../session/windows/prior-questions.ts";
import { activeWindow, noWindow, resolveTarget, type Subject, type Windows } from "../session/windows/state.ts";
import type { Settings } from "../settings/table.ts";
import type { DisplayedContent } from "../viewer/terminal/displayed-content.ts";
import type { Peer, PeerRequest } from "../wire/peer.ts";
import { findStartingSubmission } from "./client-origin.ts";
import { type PaneDependencies, type PaneRegistration, planPane } from "./create.ts";
import { LayoutReport } from "./events/layout-report.ts";
import { FloodPace } from "./fairness/pacing.ts";
import { FloodPriority } from "./fairness/priority.ts";
import type { PaneKeeper } from "./pane-keeper.ts";
import type { Arrangement } from "./panes/arrangement.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import type { SessionContent } from "./panes/session-content.ts";
import { ownFocus } from "./panes/window-input.ts";
import { WindowView } from "./panes/window-view.ts";
import type { NewPaneProgram, SessionParts } from "./parts.ts";
import { Permission, type PermissionPort } from "./permission.ts";
import { followPrivacy } from "./privacy.ts";

/** Maximum views between a target and the pane that it finally names. */
const MAX_VIEW_CHAIN = 8;
const ResolveSchema = v.object({ through: v.optional(v.number(), 0) });

type PortParts = "session" | "arrangement" | "content" | "instance" | "settings" | "processId" | "sessionNumber";

interface SessionProcessPort extends Pick<SessionParts, PortParts>, Pick<PermissionPort, "eventConsumers"> {
  /** Path of its socket. */
  readonly socket: string;
  readonly localPanes: Map<string, LocalPane>;
  /** The view for all viewers without a focus of their own. */
  readonly view: WindowView;
  /** The environment of the session's programs, and their soft limit of open descriptors. */
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
  /** Creates a pane of the session, and begins its checkpoint and journal. */
  createPane(planned: Awaited<ReturnType<typeof planPane>>, registration: PaneRegistration): Promise<LocalPane>;
  keeper(): PaneKeeper;
  audit(): AuditLog | null;
}

export class SessionProcess implements SessionParts, ServedSession {
  readonly session: Session<SessionContent>;
  readonly arrangement: Arrangement;
  readonly content: SessionContent;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly processId: number;
  readonly sessionNumber: number;
  readonly localPanes: Map<string, LocalPane>;
  readonly permission: Permission;
  /** Guest panes whose process is gone: calls to them wait until they are shown or started again. */
  readonly recovering = new Map<string, Promise<void>>();
  private readonly sharedView: WindowView;
  private readonly layoutReport: LayoutReport;
  private dispatchModule: Promise<typeof import("./operations/dispatch.ts")> | null = null;
  private readonly floodPriority: FloodPriority;

  constructor(private readonly port: SessionProcessPort) {
    this.session = port.session;
    this.arrangement = port.arrangement;
    this.content = port.content;
    this.instance = port.instance;
    this.settings = port.settings;
    this.permission = new Permission(port);
    this.processId = port.processId;
    this.sessionNumber = port.sessionNumber;
    this.localPanes = port.localPanes;
    this.sharedView = port.view;
    const { arrangement, session } = this;
    this.floodPriority = new FloodPriority(
      () => session.viewers.count > 0,
      () => void this.loadOperations(),
      new FloodPace(() => this.holdOutput()),
    );
    arrangement.events.on("positionsChanged", () => this.resizeForViewers());
    arrangement.events.on("positionsChanged", () => this.reportWatching());
    session.events.on("listed", () => this.reportWatching());
    arrangement.events.on("listingChanged", () => arrangement.isSplit && session.events.emit("listed", undefined));
    arrangement.events.on("changed", ({ before, after }) => this.linkWindows(before, after));
    arrangement.events.on("copied", (copied) => session.buffers.storeCopy(copied));
    arrangement.events.on("paneEnded", ({ pane, isKept }) => {
      if (isKept || this.localPanes.has(pane)) return;
      void releasePane(this.instance, this.processId, this.sessionNumber, paneNumber(pane)).catch(() => {});
    });
    session.events.on("renamed", ({ new_name }) => {
      for (const { ownSession, adoptedBy } of this.localPanes.values())
        if (adoptedBy === null) ownSession.setName(new_name);
      for (const placedPane of arrangement.placedPanes.values()) {
        if (placedPane.link?.isGuest) placedPane.link.setAdoptedBy({ number: this.sessionNumber, name: new_name });
      }
    });
    followPrivacy(this);
    this.layoutReport = new LayoutReport(this);
  }

  /** Runs per chunk of any pane. */
  countOutput(bytes: number): void {
    this.floodPriority.countOutput(bytes);
  }

  dispose(): void {
    this.sharedView.dispose();
  }

  get paneId(): string {
    return this.content.id;
  }

  subjectSessionId({ op, target }: Pick<PeerRequest, "op" | "target">): () => string {
    const isOfSession = peerRequest(op).showsWindow === true && !(target !== undefined && addressesPane(target));
    const pane = isOfSession ? null : this.resolvePane(target);
    return () => sessionId((pane === null ? null : this.localPanes.get(pane)?.adoptedBy?.number) ?? this.sessionNumber);
  }

  watchEvents({ changed, agent, sendEvent }: WatcherReports): void {
    const { events } = this.arrangement;
    events.on("listingChanged", changed);
    events.on("agent", (changedAgent) => agent(changedAgent.pane, changedAgent.agent));
    events.on("endReported", () => sendEvent("session_end_told"));
  }

  /**
   * Tells the source sessions of views whether a person is viewing them. Without views this costs a walk over the
   * panes.
   */
  private reportWatching(): void {
    for (const placedPane of this.arrangement.placedPanes.values())
      placedPane.link?.setWatched(this.session.viewers.isShown(placedPane.id));
  }

  refresh(): Promise<void> {
    return this.content.refresh();
  }

  async priorQuestion(binding: Binding, content: DisplayedContent): Promise<PriorQuestion | null> {
    const { operation } = binding;
    if (!mayAsk(operation, endsOf(operation), this.settings.confirm_close)) return null;
    await this.content.refresh();
    const session = { name: this.session.name, windows: this.content.windows() };
    return priorQuestion(binding, session, content.mouseTargets.active, findRunningPrograms);
  }

  /** If the focused pane is a view, its session handles the operation. */
  async runBinding(
    { operation: op, input }: Binding,
    content: DisplayedContent,
    { by, about, signal }: BindingContext,
  ): Promise<unknown> {
    const target = about ?? content.mouseTargets.active;
    const request = { op, input, target, ...by, signal: signal ?? new AbortController().signal };
    const link = this.arrangement.placedPanes.get(target)?.link;
    if (link !== undefined && isForPane(op, target)) return link.request(op, input, { ...by, signal: request.signal });
    const { operate } = await this.loadOperations();
    return operate(this, request, content instanceof WindowView ? content : null);
  }

  findStartingKey(pid: number): Submission | null {
    for (const { pane } of this.localPanes.values()) {
      const submission = findStartingSubmission(pane, this.session.submittedLines, pid);
      if (submission !== null) return submission;
    }
    return null;
  }

  private async whenRecovered(target: string | undefined): Promise<void> {
    await this.recovering.get(this.resolvePane(target) ?? "");
  }

  async handlePeerRequest(request: PeerRequest): Promise<unknown> {
    if (request.op === "peer.resolve") {
      if (this.recovering.size > 0) await this.whenRecovered(request.target);
      return this.resolveViewChain(request);
    }
    if (request.op === "peer.checkpoint") {
      const { folder } = v.parse(SaveToSchema, request.input);
      const directory = unfinishedDir(this.instance, folder);
      // The session that has the pane handles the rest.
      const guest = request.target === undefined ? undefined : this.localPanes.get(request.target);
      if (guest === undefined) await this.keeper.saveTo(directory);
      else await this.keeper.savePane(guest.id, directory);
      return {};
    }
    const { handleSessionRequest } = await import("./panes/moving-windows.ts");
    return handleSessionRequest(this, request).finally(() => this.layoutReport.flush());
  }

  restoreFailed(): void {
    this.keeper.abandonRestore();
  }

  async saveBeforeEnd(signal: string): Promise<void> {
    await this.keeper.saveLast(signal);
  }

  async operate(request: PeerRequest): Promise<unknown> {
    const endRequest = this.floodPriority.beginRequest();
    try {
      if (this.recovering.size > 0) await this.whenRecovered(request.target);
      return await (await this.loadOperations()).operate(this, request);
    } finally {
      this.layoutReport.flush();
      endRequest();
    }
  }

  async loadClientStreams(): Promise<ClientStreams> {
    const { clientStreams } = await import("./streams/client-streams.ts");
    return clientStreams(
      (target) => this.localPaneFor(target),
      (agent) => this.permission.isAllowed(agent),
    );
  }

  /** @throws WshError pane_not_found; moved if the pane is a view */
  contentFor(request: PeerRequest, peer: Peer): { readonly content: DisplayedContent; readonly session: Session } {
    const { input, target } = request;
    const { session } = this;
    if (target !== undefined && addressesPane(target)) {
      const { content, ownSession } = this.localPaneFor(target);
      return { content, session: ownSession };
    }
    const isIndependent = typeof input === "object" && input !== null && "independent" in input && input.independent;
    if (isIndependent !== true) return { content: this.sharedView, session };
    const { rows, cols } = this.sharedView;
    const view = new WindowView(this.arrangement, { rows, cols }, this.content, ownFocus(this.arrangement));
    this.content.independentViews.add(view);
    this.arrangement.watch(view, view.window.id);
    peer.onClosed = () => {
      this.content.independentViews.delete(view);
      this.arrangement.watch(view, null);
      view.dispose();
    };
    return { content: view, session };
  }

  /** A window for a stream, which affects no other view and no size. @throws WshError pane_not_found */
  streamedWindow(target: string | undefined): StreamedWindow {
    const { arrangement, sharedView, content } = this;
    const { state } = arrangement;
    if (target === undefined) {
      return {
        get id() {
          return windowId(activeWindow(currentState()).id);
        },
        content: sharedView,
        dispose: () => {},
      };
    }
    const match =
      state.windows.find(({ id }) => windowId(id) === target) ??
      meantWindow(
        state.windows,
        { kind: "session", name: this.session.name, window: target },
        { automatic: (each) => content.nameOf(each), id: ({ id }) => windowId(id) },
      )?.window;
    if (match === undefined) throw noWindow(`'${target}'`);
    const view = new WindowView(arrangement, arrangement.sizeOf(match), content, null, match.id);
    return {
      get id() {
        return currentState().windows.some(({ id }) => id === match.id) ? windowId(match.id) : null;
      },
      content: view,
      dispose: () => view.dispose(),
    };

    function currentState(): Windows {
      return arrangement.state;
    }
  }

  /**
   * Finds the subject of a request.
   * @param target as the caller wrote it; absent: the session as a whole, which stands for its oldest pane
   * @throws WshError pane_not_found
   */
  findSubject(target: string | undefined): Subject {
    const parsed: Target = target === undefined ? { kind: "session_id", id: this.sessionNumber } : parseTarget(target);
    const { arrangement, content } = this;
    return resolveTarget(
      arrangement.state,
      parsed,
      (pane) => arrangement.isLiving(pane),
      (each) => content.nameOf(each),
      this.settings.pane_base_index,
    );
  }

  localPaneFor(target: string | undefined): LocalPane {
    const pane = this.paneIdFor(target);
    const local = this.localPanes.get(pane) ?? this.arrangement.localOf(pane);
    if (local === null) throw this.movedError(pane, target);
    return local;
  }

  paneIdFor(target: string | undefined): string {
    const parsed = target === undefined ? null : parseTarget(target);
    const named = parsed?.kind === "pane" ? formatTarget(parsed) : null;
    return named !== null && this.localPanes.has(named) ? named : this.findSubject(target).pane;
  }

  /** Null: no pane that is known here. */
  private resolvePane(target: string | undefined): string | null {
    try {
      return this.paneIdFor(target);
    } catch {
      return null;
    }
  }

  movedError(pane: string, target: string | undefined): WshError {
    const { link } = this.arrangement.requirePane(pane);
    if (link === undefined) return new WshError("pane_not_found", `the session has no pane '${pane}'`);
    const subject = target === undefined ? "the session" : `'${target}'`;
    return new WshError("moved", `${subject} is a view of '${link.target}', which belongs to another process`, {
      pane: link.target,
      socket: link.socket,
    });
  }

  async startProgram(
    { create, cwd, window, byPerson, owner, isPopup, printPath }: NewPaneProgram,
    size: Size,
  ): Promise<LocalPane> {
    const { instance, settings, session, port, sessionNumber, processId } = this;
    const env = { ...port.env, ...session.viewers.environment, ...session.terminalVariables.defined };
    const request = {
      create: { name: null, tags: [], private: session.isPrivate, ...create, ...size },
      env,
      cwd,
      nofile: port.nofile,
      opened: owner.kind === "person",
      printPath,
    };
    const dependencies: PaneDependencies = { instance, settings };
    const planned = await planPane(request, dependencies);
    const paneCount = [...this.localPanes.values()].filter(({ pane }) => pane.exit === null).length;
    const limits = { maxPanes: settings.max_panes, maxAll: settings.max_all_panes };
    const id = await claimPane(instance, { owner: processId, session: sessionNumber, paneCount, ...limits }).catch(
      (thrown) => {
        planned.discard();
        throw thrown;
      },
    );
    try {
      return await port.createPane(planned, { id, window, request, startedByProgram: !byPerson, owner, isPopup });
    } catch (thrown) {
      planned.discard();
      await releasePane(instance, processId, sessionNumber, id).catch(() => {});
      throw thrown;
    }
  }

  /**
   * The pane of a request, and the socket of its process; for a view of a session with several panes, the pane that the
   * view stands for.
   * @throws WshError pane_not_found, invalid_layout for views that show each other
   */
  private async resolveViewChain({ target, input }: PeerRequest): Promise<object> {
    const pane = this.paneIdFor(target);
    const { through } = v.parse(ResolveSchema, input);
    if (through > MAX_VIEW_CHAIN) throw new WshError("invalid_layout", `pane '${pane}' is a cyclic view`);
    const link = this.arrangement.placedPanes.get(pane)?.link;
    if (link === undefined) return { pane, socket: this.socket };
    return v.parse(v.looseObject({}), await link.resolve(through + 1));
  }

  get keeper(): PaneKeeper {
    return this.port.keeper();
  }

  get socket(): string {
    return this.port.socket;
  }

  loadOperations(): Promise<typeof import("./operations/dispatch.ts")> {
    this.dispatchModule ??= import("./operations/dispatch.ts");
    return this.dispatchModule;
  }

  /** Stops reading all programs until it is disposed. */
  private holdOutput(): Disposable & { letThrough(bytes: number): void } {
    const holds = [...this.localPanes.values()].map(({ pane }) => pane.holdOutput());
    return {
      letThrough: (bytes) => {
        for (const hold of holds) hold.letThrough(bytes);
      },
      [Symbol.dispose]: () => {
        for (const hold of holds) hold[Symbol.dispose]();
      },
    };
  }

  /** The viewers of the session's active window may have changed, and its size depends on them. */
  private resizeForViewers(): void {
    const { session, content } = this;
    const size = content.independentViews.size === 0 ? null : session.viewers.size();
    if (size === null || (size.rows === session.size.rows && size.cols === session.size.cols)) return;
    session.resize().catch(() => {});
  }

  private linkWindows(before: Windows, after: Windows): void {
    const { processId: id, sessionNumber: session, instance } = this;
    const [old, now] = [before, after].map(({ windows }) => new Set(windows.map((window) => window.id)));
    for (const window of now?.difference(old ?? new Set()) ?? [])
      void linkWindow(instance, { id, session, window }, true).catch(() => {});
    for (const window of old?.difference(now ?? new Set()) ?? [])
      void linkWindow(instance, { id, session, window }, false).catch(() => {});
  }

  isPrivate = (): boolean => this.session.isPrivate || this.content.privateOwners.length > 0;

  findDenial = async (request: PeerRequest) => (await this.loadOperations()).findDenial(this, request);
}
