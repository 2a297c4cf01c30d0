/**
 * The panes that run here, from their start until they can no longer be read, and their stored state: each has a
 * checkpoint and a journal of its commands. A session with several panes also has a checkpoint of its layout.
 */
import { basename } from "node:path";
import { storableEnvironment, storableVariables } from "../checkpoints/files/environment.ts";
import { sessionDir } from "../checkpoints/files/paths.ts";
import { LayoutCheckpoint } from "../checkpoints/live/layout-checkpoint.ts";
import { PaneCheckpoint } from "../checkpoints/live/pane-checkpoint.ts";
import { planResume, resume } from "../checkpoints/live/resume.ts";
import { sessionSettings } from "../endpoint/session-settings.ts";
import { historyPlaces } from "../history/paths.ts";
import type { Retention } from "../history/retention.ts";
import { takeInWhenMany } from "../history/start-worker.ts";
import type { Instance } from "../instance/paths.ts";
import type { Logger } from "../log/log.ts";
import type { Pane } from "../pane/pane.ts";
import { defined, present } from "../protocol/defined.ts";
import { paneId, windowId } from "../protocol/names.ts";
import { Session } from "../session/session.ts";
import { contains, type Windows, withoutPopups } from "../session/windows/state.ts";
import type { Settings } from "../settings/table.ts";
import { journalCommands } from "./command-journal.ts";
import type { PaneRegistration, PlannedPane } from "./create.ts";
import { recordPane } from "./events/pane-events.ts";
import { localQuestions, questionsOfSession } from "./events/pane-questions.ts";
import { PasswordPrompter, passwordPrompters } from "./events/password-prompter.ts";
import type { Recorder } from "./events/recorder.ts";
import type { Arrangement } from "./panes/arrangement.ts";
import { LocalPane } from "./panes/local-pane.ts";
import type { SessionContent } from "./panes/session-content.ts";
import { Witness } from "./receipts.ts";
import type { TmuxSocket } from "./tmux-socket.ts";

export interface PaneKeeperPort {
  readonly session: Session<SessionContent>;
  readonly arrangement: Arrangement;
  readonly content: SessionContent;
  readonly localPanes: Map<string, LocalPane>;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly logger: Logger;
  /** Id of the process, and number of the session. */
  readonly processId: number;
  readonly sessionNumber: number;
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
  readonly tmux: TmuxSocket;
  readonly isRestored: boolean;
  /** Whether it only shows a crashed session: nothing is written or removed. */
  readonly showsCrashed: boolean;
  /** Called when a pane is gone and can no longer be found. */
  paneReleased(id: number): void;
  /** Called when a program has printed. Runs per chunk. */
  outputPrinted(bytes: number): void;
  readonly recorder: Recorder;
}

/** Id of the window that contains a pane; null: none. */
function windowIdOf({ windows }: Windows, pane: string): string | null {
  const holder = windows.find((window) => contains(window, pane));
  return holder === undefined ? null : windowId(holder.id);
}

const doNothing = async (): Promise<void> => {};
/** A pane has no entry of its own: the process registers its session. */
const unregisteredPane = { rename: async (name: string) => name, ended: doNothing, live: doNothing, leave: doNothing };

export class PaneKeeper {
  private readonly checkpoints = new Map<string, PaneCheckpoint>();
  private readonly journals = new Map<string, Disposable>();
  private layoutCheckpoint: LayoutCheckpoint | null = null;
  private readonly guestWaiters: (() => void)[] = [];

  constructor(private readonly port: PaneKeeperPort) {
    const { arrangement, recorder } = port;
    arrangement.events.on("changed", () => this.startLayoutCheckpoint());
    arrangement.events.on("eventReported", (details) =>
      recorder.record({ ...details, ...present({ window: windowIdOf(arrangement.state, details.pane) }) }),
    );
    // Otherwise a pane that is still in the layout would keep its checkpoint, and the ended session would look
    // crashed.
    port.session.events.on("destroyed", ({ reason }) => {
      for (const { ownSession, adoptedBy } of [...port.localPanes.values()])
        if (adoptedBy === null) ownSession.lifetime.destroy(reason);
    });
    if (arrangement.isSplit) this.startLayoutCheckpoint();
  }

  /** Creates a pane and starts its program. @throws WshError of the program: nothing remains then */
  async createPane(planned: PlannedPane, registration: PaneRegistration): Promise<LocalPane> {
    const { port } = this;
    const { session, arrangement, settings, localPanes } = port;
    const { create, restored } = registration.request;
    const isPrivate = (): boolean => (localPanes.get(pane.id)?.ownSession ?? session).isPrivate;
    const pane: Pane = await planned.make({
      id: registration.id,
      session: session.name,
      tmux: port.tmux.environment(),
      owner: registration.owner,
      isPrivate,
    });
    const ownSession = new Session(
      {
        id: port.sessionNumber,
        windowId: registration.window,
        name: session.name,
        tags: [],
        private: session.isPrivate,
        server: "",
        rows: create.rows,
        cols: create.cols,
        settings: sessionSettings(settings),
        isSized: true,
        env: storableVariables(create.env),
        owner: registration.owner,
      },
      pane,
      unregisteredPane,
    );
    const { id } = pane;
    const local = new LocalPane({
      ownSession,
      session,
      mouse: {
        get isAllowed() {
          return settings.mouse !== "off";
        },
      },
      isTypingElsewhere: () => arrangement.isTypingElsewhere(id),
      hasOthers: () => arrangement.hasSeveral,
      isInfoDisplayed: () => arrangement.hasSeveral || session.status !== null,
    });
    pane.events.on("chunk", ({ bytes }) => port.outputPrinted(bytes.length));
    pane.events.on("crashed", (error) =>
      port.logger.error("part of a pane's output was discarded", { pane: id, error }),
    );
    pane.events.on("abandoned", () => port.content.events.emit("abandoned", undefined));
    localPanes.set(id, local);
    local.adoption.saveLastState = async () => this.checkpoints.get(id)?.saveLast("SIGHUP");
    const owningAgent = registration.owner?.kind === "agent" ? registration.owner.name : null;
    const passwordPrompter = new PasswordPrompter(
      {
        pane,
        questions: () => {
          const { confirmedSession } = local.adoption;
          return confirmedSession === null
            ? localQuestions(session.questions)
            : questionsOfSession(port.instance, confirmedSession.number);
        },
      },
      owningAgent,
    );
    const recording = recordPane({
      pane,
      settings,
      recorder: {
        record: (details) =>
          void (
            local.adoption.report(details) ||
            port.recorder.record(details, local.adoption.confirmedSession, isPrivate())
          ),
      },
      window: () => windowIdOf(arrangement.state, id),
      isPrivate,
      stateChecked: (state) => passwordPrompter.stateChecked(state),
    });
    ownSession.events.on("destroyed", () => recording[Symbol.dispose]());
    try {
      await pane.start();
    } catch (error) {
      localPanes.delete(id);
      recording[Symbol.dispose]();
      local.close();
      pane.events.emit("exited", { code: null, signal: null });
      throw error;
    }
    ownSession.events.on("destroyed", () => this.removePane(local, registration.id));
    // A crashed session that is only shown starts nothing: its panes look like those of an ended session.
    if (restored?.run === false) pane.lifetime.handleProgramEnd({ code: null, signal: null });
    this.startJournalAndCheckpoint(local, planned, registration);
    return local;
  }

  /** Panes that belong to another session; they run here until they end. */
  get guests(): LocalPane[] {
    return [...this.port.localPanes.values()].filter(({ adoptedBy }) => adoptedBy !== null);
  }

  /**
   * Records that another session has adopted the pane and shows it; null: the pane has returned. Resolves when
   * that session's checkpoint contains it.
   * @param isOffered whether that session has not confirmed it yet: the pane and its checkpoint are still found
   * here
   */
  async setAdoptedBy(
    local: LocalPane,
    adoptedBy: { readonly number: number; readonly name: string } | null,
    isOffered = false,
  ): Promise<void> {
    const previousOwner = local.adoption.confirmedSession?.number;
    local.setAdoptedBy(adoptedBy, isOffered);
    if (local.adoption.confirmedSession?.number !== previousOwner) passwordPrompters.get(local.pane)?.paneMoved();
    this.port.session.events.emit("joined", undefined);
    for (const wake of this.guestWaiters.splice(0)) wake();
    if (!isOffered) await this.checkpoints.get(local.id)?.moveTo(adoptedBy?.number ?? null);
  }

  /** Resolves when the checkpoint contains the current layout. Never rejects: errors are logged. */
  async writeLayout(): Promise<void> {
    this.startLayoutCheckpoint();
    await this.layoutCheckpoint?.writeNow();
  }

  /** Writes one pane into another session's named checkpoint. */
  async savePane(pane: string, directory: string): Promise<void> {
    await this.checkpoints.get(pane)?.saveTo(directory);
  }

  async saveTo(directory: string): Promise<void> {
    const { arrangement } = this.port;
    if (arrangement.isSplit) await this.layoutCheckpoint?.saveTo(directory);
    await Promise.all(
      [...this.checkpoints].map(async ([pane, checkpoint]) => {
        if (arrangement.isLiving(pane)) await checkpoint.saveTo(directory);
      }),
    );
    const guestLinks = [...arrangement.placedPanes.values()].flatMap(({ link }) => (link?.isGuest ? [link] : []));
    await Promise.all(guestLinks.map((link) => link.request("peer.checkpoint", { folder: basename(directory) })));
  }

  async saveLast(signal: string): Promise<void> {
    await Promise.all([
      this.layoutCheckpoint?.saveLast(signal),
      ...[...this.checkpoints.values()].map((checkpoint) => checkpoint.saveLast(signal)),
    ]);
  }

  abandonRestore(): void {
    this.layoutCheckpoint?.abandonRestore();
    for (const checkpoint of this.checkpoints.values()) checkpoint.abandonRestore();
  }

  /** Resolves when no write is in progress. */
  async whenWritten(): Promise<void> {
    await Promise.all([
      this.layoutCheckpoint?.waitForWrites(),
      ...[...this.checkpoints.values()].map((checkpoint) => checkpoint.waitForWrites()),
    ]);
  }

  /** Resolves when no other session has a pane that runs here. */
  async whenGuestsEnded(): Promise<void> {
    while (this.guests.length > 0) await new Promise<void>((resolve) => this.guestWaiters.push(resolve));
  }

  dispose(): void {
    for (const journal of this.journals.values()) journal[Symbol.dispose]();
    this.journals.clear();
  }

  private startJournalAndCheckpoint(local: LocalPane, planned: PlannedPane, registration: PaneRegistration): void {
    const { id, window, owner, request, startedByProgram, isPopup } = registration;
    const { session, arrangement, instance, settings, sessionNumber } = this.port;
    const { create, restored, env, nofile } = request;
    const logger = this.port.logger.with({ session: session.name, id: session.id, pane: local.id });
    const places = historyPlaces(instance);
    const journalBegun = (retention: Retention): void => takeInWhenMany(places, retention);
    this.journals.set(
      local.id,
      journalCommands(local.ownSession, { places, settings, logger, startedByProgram, journalBegun: journalBegun }),
    );
    const { pane } = local;
    const witness = new Witness({ pane, settings, owner });
    local.ownSession.events.on("destroyed", () => witness[Symbol.dispose]());
    if (restored?.run === false || isPopup) return;
    const { command = null, shell = null } = create;
    const storableEnv = storableVariables(create.env);
    const start = {
      pane: id,
      session: sessionNumber,
      window,
      owner,
      nofile,
      program: { command, shell, display: pane.command, ...defined({ env: storableEnv }) },
      env: storableEnvironment({ ...env, ...create.env }),
    };
    const { replay } = planned;
    // Only the session's own checkpoint is continued; a named one remains unchanged.
    const isOwnCheckpoint = restored?.directory === sessionDir(instance, sessionNumber);
    const foreground = restored?.run === true ? (replay?.foreground ?? null) : null;
    const resumedLine = planResume(foreground, settings.restore_programs);
    if (resumedLine !== null) void resume(pane, resumedLine, logger);
    // A conversation that could not be resumed, because its agent is missing, is offered again.
    const lineToOffer =
      resumedLine === null || foreground?.conversation === undefined ? {} : { line: resumedLine.line };
    this.checkpoints.set(
      local.id,
      new PaneCheckpoint({
        session,
        local,
        instance,
        settings,
        logger,
        start,
        resumed: foreground && { ...foreground, ...lineToOffer },
        isMember: () => arrangement.isSplit,
        isRestored: restored !== undefined,
        history: isOwnCheckpoint ? (replay?.history ?? null) : null,
      }),
    );
  }

  private startLayoutCheckpoint(): void {
    const { session, arrangement, instance, settings, logger, processId, sessionNumber, env, nofile } = this.port;
    if (this.layoutCheckpoint !== null || !arrangement.isSplit || this.port.showsCrashed) return;
    this.layoutCheckpoint = new LayoutCheckpoint({
      session,
      arrangement,
      instance,
      settings,
      logger,
      isRestored: this.port.isRestored,
      currentLayout: () => ({
        host: processId,
        session: sessionNumber,
        name: session.name,
        tags: session.tags,
        created_at: session.createdAt,
        private: session.isPrivate,
        ...session.size,
        elements: session.elements.persistent,
        windows: withoutPopups(arrangement.state),
        env,
        nofile,
      }),
    });
  }

  private removePane(local: LocalPane, id: number): void {
    const { port } = this;
    port.localPanes.delete(local.id);
    this.journals.get(local.id)?.[Symbol.dispose]();
    this.journals.delete(local.id);
    this.checkpoints.delete(local.id);
    if (paneId(port.processId) !== local.id) port.paneReleased(id);
    for (const wake of this.guestWaiters.splice(0)) wake();
  }
}
