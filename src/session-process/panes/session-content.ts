/**
 * All panes of a session as one unit for the session, which shows, types into, resizes and ends it. Facts about the
 * session as a whole (program, directory, state) are those of its oldest living pane, which is also the target of a
 * bare name.
 */

import { orUntil } from "../../base/deadline.ts";
import { Emitter } from "../../base/emitter.ts";
import type { PaneLabel } from "../../compositor/border-titles.ts";
import type { StateLasting } from "../../pane/state/state-lifetime.ts";
import { urgencyOf } from "../../protocol/agent.ts";
import type { WshError } from "../../protocol/errors.ts";
import { formatTarget, parseTarget } from "../../protocol/names.ts";
import type { Owner } from "../../protocol/owner.ts";
import type { SecretPrompt } from "../../protocol/secret.ts";
import {
  automaticName,
  type EndReason,
  type PaneInfo,
  type SessionState,
  type WindowInfo,
} from "../../protocol/session.ts";
import type { Size } from "../../protocol/size.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { PaneRef } from "../../session/types.ts";
import { showPane } from "../../session/windows/changes.ts";
import { activeWindow, defaultPane, lastingActive, panesIn, type WindowEntry } from "../../session/windows/state.ts";
import type { Arrangement, Exit } from "./arrangement.ts";
import type { LocalPane } from "./local-pane.ts";
import { paneLabel } from "./pane-label.ts";
import type { WindowView } from "./window-view.ts";

/** The end of a view, which has no program. */
const EXIT_UNKNOWN: Exit = { code: null, signal: null };
/** Loaded on demand: few sessions have a pane that another process runs. */
const loadGuestSecrets = () => import("./guest-secrets.ts");

/** Longest wait for the state of a view's source, in ms: a hanging source does not delay a list. */
const REFRESH_MS = 500;

interface ContentEvents {
  alternate: boolean;
  exited: Exit;
  abandoned: undefined;
}

export class SessionContent implements PaneRef {
  /** Views of viewers with a separate focus. */
  readonly independentViews = new Set<WindowView>();
  readonly events = new Emitter<ContentEvents>();
  exit: Exit | null = null;
  private lastTypedAt = performance.now();
  private alternate = false;

  constructor(
    private readonly arrangement: Arrangement,
    private readonly sharedView: () => WindowView,
    /** All panes that run here, including those that have left the layout. */
    private readonly localPanes: ReadonlyMap<string, LocalPane>,
    /** Whether the lines above panes have texts. */
    private readonly isTitled: () => boolean,
    private readonly settings: { readonly pane_base_index: number },
  ) {
    arrangement.events.on("allEnded", (exit) => {
      this.exit = exit;
      this.events.emit("exited", exit);
    });
    arrangement.events.on("programResumed", () => {
      this.exit = null;
    });
    for (const change of ["rendered", "positionsChanged"] as const)
      arrangement.events.on(change, () => this.checkAlternate());
  }

  /** The contents for all viewers without a separate focus. */
  get shownView(): WindowView {
    return this.sharedView();
  }

  /** The pane that the session's bare name addresses. */
  get id(): string {
    const { state } = this.arrangement;
    return defaultPane(state, (pane) => this.arrangement.isLiving(pane)) ?? "@0";
  }

  get pid(): number | null {
    return this.paneInfo(this.id).pid;
  }

  get command(): string {
    return this.paneInfo(this.id).command;
  }

  readonly activity = {
    record: (): void => {
      this.lastTypedAt = performance.now();
    },
    idleMs: (): number => {
      const panes = [...this.arrangement.placedPanes.values()];
      const idleTimes = panes.map((pane) => pane.idleMs());
      // With one pane, its own activity includes typed input.
      if (panes.length > 1) idleTimes.push(Math.floor(performance.now() - this.lastTypedAt));
      return Math.min(...idleTimes);
    },
  };

  readonly silence = {
    dispose: (gone: WshError): void => {
      for (const { pane } of this.localPanes.values()) pane.silence.dispose(gone);
    },
  };

  readonly lifetime = {
    isHangingUp: false,
    readableUntil: null as number | null,
    restart: (): Promise<void> => this.restart(),
    end: (reason?: EndReason): Promise<void> => this.end(reason === "server_stopped" ? reason : "killed"),
    noteEndReported: (): void => this.oldest?.pane.lifetime.noteEndReported(),
  };

  /** Owners of the private sessions that its views show. */
  get privateOwners(): (Owner | null)[] {
    return [...this.arrangement.placedPanes.values()].flatMap(({ link }) =>
      link?.isView && link.info.private === true ? [link.info.owner ?? null] : [],
    );
  }

  /** The oldest pane, if it runs here. */
  get oldest(): LocalPane | null {
    return this.arrangement.localOf(this.id);
  }

  /** Info of the oldest pane; its agent is the session's agent that needs a person most. */
  info(): Omit<PaneInfo, "index" | "active"> {
    for (const { id } of this.arrangement.placedPanes.values()) this.arrangement.localOf(id)?.discardInfo();
    const { agent: _, ...oldest } = this.paneInfo(this.id);
    const ownEntries = Object.values(this.arrangement.state.panes).filter(({ view }) => view == null);
    const agents = ownEntries.flatMap(({ id }) => this.paneInfo(id).agent ?? []);
    const [mostUrgent] = agents.toSorted((a, b) => urgencyOf(a) - urgencyOf(b) || a.since - b.since);
    return mostUrgent === undefined ? oldest : { ...oldest, agent: mostUrgent };
  }

  state(): SessionState {
    return this.paneInfo(this.id).state;
  }

  stateLasting(): { readonly state: SessionState; readonly lasting: StateLasting } {
    const { oldest } = this;
    if (oldest !== null && !this.arrangement.hasSeveral) return oldest.pane.stateLasting();
    return { state: this.state(), lasting: null };
  }

  async resize(rows: number, cols: number): Promise<void> {
    const area: Size = { rows, cols };
    for (const view of [this.sharedView(), ...this.independentViews]) view.resize(area);
    // Views are arranged again after the panes have got their sizes.
    this.arrangement.resize(area);
  }

  readonly secrets = {
    prompt: async (pane: string): Promise<SecretPrompt | null> => {
      const { link } = this.arrangement.placedPanes.get(pane) ?? {};
      if (link?.isGuest === true) return (await loadGuestSecrets()).guestPrompt(link, pane);
      const prompt = this.arrangement.localOf(pane)?.pane.secrets.prompt() ?? null;
      return prompt === null || !this.arrangement.hasSeveral ? prompt : { ...prompt, pane };
    },
    type: async ({ group, pane = this.id }: SecretPrompt, secret: Uint8Array): Promise<boolean> => {
      const { link } = this.arrangement.placedPanes.get(pane) ?? {};
      if (link?.isGuest === true) return (await loadGuestSecrets()).typeSecret(link, group, secret);
      const local = this.arrangement.localOf(pane);
      if (local !== null) return local.pane.secrets.type({ group }, secret);
      secret.fill(0);
      return false;
    },
    readers: async (): Promise<string[]> => {
      await this.refresh();
      return Object.keys(this.arrangement.state.panes).filter((pane) => this.paneInfo(pane).state === "password");
    },
  };

  async stateIn(pane: string): Promise<SessionState> {
    if (!this.arrangement.placedPanes.has(pane)) return "exited";
    return this.arrangement.localOf(pane)?.pane.state() ?? this.paneInfo(pane).state;
  }

  reveal(pane: string): void {
    const { arrangement } = this;
    void arrangement.change(() => arrangement.commit(showPane(arrangement.state, pane))).catch(() => {});
  }

  flags(): PtyFlags | null {
    return this.sharedView().input.flags();
  }

  typed(bytes: Uint8Array, _flags: PtyFlags | null, byAgent?: boolean): void {
    this.sharedView().input.typed(bytes, null, byAgent);
  }

  release(gone: WshError): void {
    for (const placed of this.arrangement.placedPanes.values()) if (!this.localPanes.has(placed.id)) placed.close();
    for (const local of this.localPanes.values()) if (local.adoptedBy === null) local.release(gone);
  }

  /** Updates the facts about panes, including views; a hanging one keeps its last facts. */
  async refresh(): Promise<void> {
    const placedPanes = [...this.arrangement.placedPanes.values()];
    await Promise.all(placedPanes.map((pane) => orUntil(pane.refresh(), { ms: REFRESH_MS }, () => {})));
  }

  /** @param useCached use states and programs of the last check: for callers that need positions */
  windows(useCached = false): WindowInfo[] {
    const { state } = this.arrangement;
    const active = activeWindow(state);
    return state.windows.map((window) => this.windowInfo(window, window.id === active.id, useCached));
  }

  nameOf(window: WindowEntry, useCached = false): string {
    return window.name ?? automaticName(this.paneInfo(lastingActive(window), useCached));
  }

  /** The text of the line above a pane; null: none. @param useCached as of the last check */
  labelOf(pane: string, useCached = false): PaneLabel | null {
    return this.isTitled() ? paneLabel(this.paneInfo(pane, useCached)) : null;
  }

  /** The text about the program's end in a pane that is kept, if no line above the pane has it; null: none. */
  endOf(pane: string): PaneLabel | null {
    if (!this.arrangement.endedPanes.has(pane)) return null;
    const info = this.paneInfo(pane);
    return info.state === "exited" ? paneLabel(info) : null;
  }

  private windowInfo(window: WindowEntry, active: boolean, useCached: boolean): WindowInfo {
    const placement = this.arrangement.placementOf(window);
    const { rows, cols } = placement.size;
    const panes = panesIn(window).map((pane, i): PaneInfo => {
      const box = placement.boxes.get(pane);
      const place =
        box === undefined ? { hidden: true } : { row: box.row, col: box.col, rows: box.rows, cols: box.cols };
      const last = pane === window.recent[1] ? { last: true } : {};
      const floatIndex = window.floats?.findIndex((each) => each.pane === pane) ?? -1;
      const float =
        floatIndex === -1
          ? {}
          : { z: floatIndex + 1, ...(window.floats?.[floatIndex]?.popup === true ? { popup: true as const } : {}) };
      const index = this.settings.pane_base_index + i;
      return { ...this.paneInfo(pane, useCached), ...place, ...float, index, active: pane === window.active, ...last };
    });
    return {
      id: `@w${window.id}`,
      index: window.index,
      name: this.nameOf(window, useCached),
      active,
      ...(window.id === this.arrangement.state.recent[1] ? { last: true } : {}),
      rows,
      cols,
      ...(window.zoomed ? { zoomed: true } : {}),
      ...(window.synchronized ? { synchronized: true } : {}),
      panes,
    };
  }

  private paneInfo(pane: string, useCached = false): Omit<PaneInfo, "index" | "active"> {
    const { state, placedPanes, endedPanes } = this.arrangement;
    const entry = state.panes[pane];
    const placedPane = placedPanes.get(pane);
    const exit = endedPanes.get(pane) ?? this.exit;
    const info = placedPane?.paneInfo(useCached) ?? {
      id: pane,
      pid: null,
      command: "",
      rows: 0,
      cols: 0,
      cwd: null,
      title: "",
      state: "unresponsive" as const,
    };
    const hasCrashed = info.state === "crashed";
    return {
      ...info,
      title: entry?.title ?? info.title,
      ...(entry?.view == null ? {} : { view: withCurrentName(entry.view, placedPane?.link?.info.name) }),
      ...(exit === null || exit === undefined || hasCrashed
        ? {}
        : { state: "exited" as const, exit_code: exit.code, signal: exit.signal }),
    };
  }

  private checkAlternate(): void {
    const { placedPanes, state } = this.arrangement;
    const alternate = placedPanes.get(activeWindow(state).active)?.modes?.alternate ?? false;
    if (alternate === this.alternate) return;
    this.alternate = alternate;
    this.events.emit("alternate", alternate);
  }

  /** Restarts the program of the oldest pane in its place. */
  private async restart(): Promise<void> {
    const { arrangement } = this;
    await arrangement.change(() => arrangement.restart(this.id));
  }

  private async end(reason: "killed" | "server_stopped"): Promise<void> {
    const { arrangement } = this;
    await arrangement.change(() => {
      for (const { id, isView } of [...arrangement.placedPanes.values()]) {
        if (isView) arrangement.remove(id, EXIT_UNKNOWN);
      }
    });
    // Includes those that have left the layout.
    const ownPanes = [...this.localPanes.values()].filter(({ adoptedBy }) => adoptedBy === null);
    const linkedPanes = [...arrangement.placedPanes.values()].filter(({ link }) => link !== undefined);
    await Promise.all([
      ...ownPanes.map((local) => local.ownSession.lifetime.kill(reason)),
      ...linkedPanes.map((placed) => placed.endProgram()),
    ]);
  }
}

/** The target of a view, with the current name of its session. */
function withCurrentName(view: string, name: string | undefined): string {
  const target = parseTarget(view);
  return target.kind === "session" && name !== undefined ? formatTarget({ ...target, name }) : view;
}
