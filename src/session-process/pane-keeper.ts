/**
 * The panes that run here, from their start until they can no longer be read, and their stored state: each has a
 * checkpoint and a journal of its commands; a session with several panes also has a checkpoint as a whole.
 */
import { basename } from "node:path";
import { storableEnvironment, storableVariables } from "../checkpoints/files/environment.ts";
import { sessionDir } from "../checkpoints/files/paths.ts";
import { LayoutCheckpoint } from "../checkpoints/live/layout-checkpoint.ts";
import { PaneCheckpoint } from "../checkpoints/live/pane-checkpoint.ts";
import { planResume, resume } from "../checkpoints/live/resume.ts";
import { sessionSettings } from "../endpoint/session-settings.ts";
import { historyPlaces } from "../history/paths.ts";
import { takeInWhenMany } from "../history/start-worker.ts";
import type { Instance } from "../instance/paths.ts";
import type { Logger } from "../log/log.ts";
import type { Pane } from "../pane/pane.ts";
import { defined, present } from "../protocol/defined.ts";
import { paneId, windowId } from "../protocol/names.ts";
import { Session } from "../session/session.ts";
import { contains, type Windows, withoutPopups } from "../session/windows/state.ts";
import type { Settings } from "../settings/table.ts";
import type { MadePane, PlannedPane } from "./create.ts";
import { recordPane } from "./events/pane-events.ts";
import { ownQuestions, questionsOf } from "./events/pane-questions.ts";
import { PasswordAsk, passwordAsks } from "./events/password-ask.ts";
import type { Recorder } from "./events/recorder.ts";
import { keepHistory } from "./history.ts";
import type { Arrangement } from "./panes/arrangement.ts";
import type { Content } from "./panes/content.ts";
import { LocalPane } from "./panes/local-pane.ts";
import { Witness } from "./receipts.ts";
import type { TmuxSocket } from "./tmux-socket.ts";

export interface PaneKeeperPort {
  readonly session: Session<Content>;
  readonly arrangement: Arrangement;
  readonly content: Content;
  readonly locals: Map<string, LocalPane>;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly logger: Logger;
  /** Id of the process, and number of the session. */
  readonly processId: number;
  readonly number: number;
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
  readonly tmux: TmuxSocket;
  readonly isRestored: boolean;
  /** Whether it only shows a crashed session: nothing is written or removed. */
  readonly showsCrashed: boolean;
  /** A pane is gone and can no longer be found. */
  released(id: number): void;
  /** A program printed this many bytes. Runs per chunk. */
  printed(bytes: number): void;
  readonly recorder: Recorder;
}

/** Id of the window that contains a pane; null: none. */
function windowWith({ windows }: Windows, pane: string): string | null {
  const holder = windows.find((window) => contains(window, pane));
  return holder === undefined ? null : windowId(holder.id);
}

const nothing = async (): Promise<void> => {};
/** Registry of a pane, whose session the process registers itself. */
const noRegistry = { rename: async (name: string) => name, ended: nothing, live: nothing, leave: nothing };

export class PaneKeeper {
  private readonly checkpoints = new Map<string, PaneCheckpoint>();
  private readonly journals = new Map<string, Disposable>();
  private layout: LayoutCheckpoint | null = null;
  private readonly waiters: (() => void)[] = [];

  constructor(private readonly port: PaneKeeperPort) {
    const { arrangement, recorder } = port;
    arrangement.events.on("changed", () => this.keepLayout());
    arrangement.events.on("recorded", (details) =>
      recorder.record({ ...details, ...present({ window: windowWith(arrangement.state, details.pane) }) }),
    );
    // A pane that is still in the layout would keep its checkpoint, and the session would look like a crashed one.
    port.session.events.on("destroyed", ({ reason }) => {
      for (const { ownSession, home } of [...port.locals.values()])
        if (home === null) ownSession.lifetime.destroy(reason);
    });
    if (arrangement.isSplit) this.keepLayout();
  }

  /** Creates a pane and starts its program. @throws WshError of the program: nothing remains then */
  async adopt(planned: PlannedPane, newPane: MadePane): Promise<LocalPane> {
    const { port } = this;
    const { session, arrangement, settings, locals } = port;
    const { create, restored } = newPane.request;
    const isPrivate = (): boolean => (locals.get(pane.id)?.ownSession ?? session).isPrivate;
    const pane: Pane = await planned.make({
      id: newPane.id,
      session: session.name,
      tmux: port.tmux.environment(),
      owner: newPane.owner,
      isPrivate,
    });
    const ownSession = new Session(
      {
        id: port.number,
        windowId: newPane.window,
        name: session.name,
        tags: [],
        private: session.isPrivate,
        server: "",
        rows: create.rows,
        cols: create.cols,
        settings: sessionSettings(settings),
        isSized: true,
        env: storableVariables(create.env),
        owner: newPane.owner,
      },
      pane,
      noRegistry,
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
      isTypedBeside: () => arrangement.isTypedBeside(id),
      hasOthers: () => arrangement.hasSeveral,
      isFollowed: () => arrangement.hasSeveral || session.status !== null,
    });
    pane.events.on("chunk", ({ bytes }) => port.printed(bytes.length));
    pane.events.on("crashed", (error) =>
      port.logger.error("part of a pane's output was discarded", { pane: id, error }),
    );
    pane.events.on("abandoned", () => port.content.events.emit("abandoned", undefined));
    locals.set(id, local);
    local.homeTracker.onLost = async () => this.checkpoints.get(id)?.saveLast("SIGHUP");
    const maker = newPane.owner?.kind === "agent" ? newPane.owner.name : null;
    const passwords = new PasswordAsk(
      {
        pane,
        questions: () => {
          const { owner } = local.homeTracker;
          return owner === null ? ownQuestions(session.questions) : questionsOf(port.instance, owner.number);
        },
      },
      maker,
    );
    const recording = recordPane({
      pane,
      settings,
      recorder: {
        record: (details) =>
          void (
            local.homeTracker.report(details) || port.recorder.record(details, local.homeTracker.owner, isPrivate())
          ),
      },
      window: () => windowWith(arrangement.state, id),
      isPrivate,
      stateChecked: (state) => passwords.stateChecked(state),
    });
    ownSession.events.on("destroyed", () => recording[Symbol.dispose]());
    try {
      await pane.start();
    } catch (error) {
      locals.delete(id);
      recording[Symbol.dispose]();
      local.close();
      pane.events.emit("exited", { code: null, signal: null });
      throw error;
    }
    ownSession.events.on("destroyed", () => this.removePane(local, newPane.id));
    // Nothing was started: the pane looks like one of an ended session.
    if (restored?.run === false) pane.lifetime.handleProgramEnd({ code: null, signal: null });
    this.storePane(local, planned, newPane);
    return local;
  }

  /** Panes that belong to another session; they run here until they end. */
  get guests(): LocalPane[] {
    return [...this.port.locals.values()].filter(({ home }) => home !== null);
  }

  /**
   * A pane moves to another session, which then shows it; null: it has returned. Resolves when that session's
   * checkpoint contains it.
   * @param isOffered until that session has it, it is found here, and its checkpoint is kept
   */
  async lend(
    local: LocalPane,
    home: { readonly number: number; readonly name: string } | null,
    isOffered = false,
  ): Promise<void> {
    const before = local.homeTracker.owner?.number;
    local.setHome(home, isOffered);
    if (local.homeTracker.owner?.number !== before) passwordAsks.get(local.pane)?.moved();
    this.port.session.events.emit("joined", undefined);
    for (const wake of this.waiters.splice(0)) wake();
    if (!isOffered) await this.checkpoints.get(local.id)?.moveTo(home?.number ?? null);
  }

  /** Resolves when the checkpoint contains the current layout. Never rejects: errors are logged. */
  async writeLayout(): Promise<void> {
    this.keepLayout();
    await this.layout?.writeNow();
  }

  /** Writes one pane into another session's named checkpoint. */
  async savePane(pane: string, directory: string): Promise<void> {
    await this.checkpoints.get(pane)?.saveTo(directory);
  }

  async saveTo(directory: string): Promise<void> {
    const { arrangement } = this.port;
    if (arrangement.isSplit) await this.layout?.saveTo(directory);
    await Promise.all(
      [...this.checkpoints].map(async ([pane, kept]) => {
        if (arrangement.isLiving(pane)) await kept.saveTo(directory);
      }),
    );
    const elsewhere = [...arrangement.placed.values()].flatMap(({ link }) => (link?.isGuest ? [link] : []));
    await Promise.all(elsewhere.map((link) => link.request("peer.checkpoint", { folder: basename(directory) })));
  }

  async saveLast(signal: string): Promise<void> {
    await Promise.all([
      this.layout?.saveLast(signal),
      ...[...this.checkpoints.values()].map((kept) => kept.saveLast(signal)),
    ]);
  }

  keepAfterRestoreUndone(): void {
    this.layout?.abandonRestore();
    for (const kept of this.checkpoints.values()) kept.abandonRestore();
  }

  /** Resolves when no write is in progress. */
  async whenWritten(): Promise<void> {
    await Promise.all([
      this.layout?.waitForWrites(),
      ...[...this.checkpoints.values()].map((kept) => kept.waitForWrites()),
    ]);
  }

  /** Resolves when no other session has a pane that runs here. */
  async untilGuestsEnded(): Promise<void> {
    while (this.guests.length > 0) await new Promise<void>((resolve) => this.waiters.push(resolve));
  }

  dispose(): void {
    for (const journal of this.journals.values()) journal[Symbol.dispose]();
    this.journals.clear();
  }

  private storePane(local: LocalPane, planned: PlannedPane, newPane: MadePane): void {
    const { id, window, request, startedByProgram, isPopup } = newPane;
    const { session, arrangement, instance, settings, number } = this.port;
    const { create, restored, env, nofile } = request;
    const logger = this.port.logger.with({ session: session.name, id: session.id, pane: local.id });
    const places = historyPlaces(instance);
    const retention = { days: settings.history_days, bytes: settings.history_bytes };
    const begun = (): void => takeInWhenMany(places, retention);
    this.journals.set(
      local.id,
      keepHistory(local.ownSession, { places, settings, logger, startedByProgram, journalBegun: begun }),
    );
    const { pane } = local;
    const witness = new Witness({ pane, settings, maker: newPane.owner });
    local.ownSession.events.on("destroyed", () => witness[Symbol.dispose]());
    if (restored?.run === false || isPopup) return;
    const { command = null, shell = null } = create;
    const given = storableVariables(create.env);
    const start = {
      pane: id,
      session: number,
      window,
      nofile,
      program: { command, shell, display: pane.command, ...defined({ env: given }) },
      env: storableEnvironment({ ...env, ...create.env }),
    };
    const { replayed } = planned;
    // A named checkpoint remains unchanged.
    const isOwn = restored?.directory === sessionDir(instance, number);
    const foreground = restored?.run === true ? (replayed?.foreground ?? null) : null;
    const line = planResume(foreground, settings.restore_programs);
    if (line !== null) void resume(pane, line, logger);
    // A conversation that could not be resumed, because its agent is missing, is offered again.
    const again = line === null || foreground?.conversation === undefined ? {} : { line: line.line };
    this.checkpoints.set(
      local.id,
      new PaneCheckpoint({
        session,
        local,
        instance,
        settings,
        logger,
        start,
        resumed: foreground && { ...foreground, ...again },
        isMember: () => arrangement.isSplit,
        isRestored: restored !== undefined,
        history: isOwn ? (replayed?.history ?? null) : null,
      }),
    );
  }

  private keepLayout(): void {
    const { session, arrangement, instance, settings, logger, processId, number, env, nofile } = this.port;
    if (this.layout !== null || !arrangement.isSplit || this.port.showsCrashed) return;
    this.layout = new LayoutCheckpoint({
      session,
      arrangement,
      instance,
      settings,
      logger,
      isRestored: this.port.isRestored,
      currentLayout: () => ({
        host: processId,
        session: number,
        name: session.name,
        tags: session.tags,
        created_at: session.createdAt,
        private: session.isPrivate,
        ...session.size,
        elements: session.elements.state(),
        windows: withoutPopups(arrangement.state),
        env,
        nofile,
      }),
    });
  }

  private removePane(local: LocalPane, id: number): void {
    const { port } = this;
    port.locals.delete(local.id);
    this.journals.get(local.id)?.[Symbol.dispose]();
    this.journals.delete(local.id);
    this.checkpoints.delete(local.id);
    if (paneId(port.processId) !== local.id) port.released(id);
    for (const wake of this.waiters.splice(0)) wake();
  }
}
