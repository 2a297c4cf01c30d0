/**
 * All panes of a session as the session sees them: one thing that is shown, typed into, resized and ended. Facts that
 * are asked of the session as a whole (program, directory, state) are those of its oldest living pane, as everywhere
 * where a name alone is given.
 */
import * as v from "valibot";
import { orUntil } from "../base/deadline.ts";
import { Emitter } from "../base/emitter.ts";
import type { PaneLabel } from "../compositor/border-titles.ts";
import { urgencyOf } from "../protocol/agent.ts";
import { WshError } from "../protocol/errors.ts";
import { formatTarget, parseTarget } from "../protocol/names.ts";
import { FoundPromptSchema, type SecretInputSchema, type SecretPrompt, SecretTakenSchema } from "../protocol/secret.ts";
import {
  automaticName,
  type PaneInfo,
  type SessionState,
  SessionStateSchema,
  type WindowInfo,
} from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { PaneRef } from "../session/types.ts";
import { show } from "../session/windows/changes.ts";
import { activeWindow, defaultPane, panesIn, type WindowEntry } from "../session/windows/state.ts";
import type { Arrangement, Exit } from "./arrangement.ts";
import { paneLabel } from "./pane-label.ts";
import type { WindowView } from "./view.ts";

/** The end of a view, which has no program. */
const EXIT_UNKNOWN: Exit = { code: null, signal: null };
/** Longest wait for a pane's process to say what its program reads, or to type for it, in ms. */
const PANE_MS = 2_000;
/** Longest wait for a pane's process to say how it is, in ms: a list is not held up by one that hangs. */
const REFRESH_MS = 500;

interface ContentEvents {
  alternate: boolean;
  exited: Exit;
  abandoned: undefined;
}

export class Content implements PaneRef {
  /** Views of viewers with a focus of their own. */
  readonly independent = new Set<WindowView>();
  readonly events = new Emitter<ContentEvents>();
  exit: Exit | null = null;
  private typedAt = performance.now();
  private ending = false;
  private alternate = false;

  constructor(
    private readonly arrangement: Arrangement,
    private readonly view: () => WindowView,
    /** Ends the processes of panes that have left the layout, and resolves when they have ended. */
    private readonly endLeft: () => Promise<void>,
    /** Whether the lines above panes say what they are. */
    private readonly titled: boolean,
  ) {
    arrangement.events.on("over", (exit) => {
      this.exit = exit;
      this.events.emit("exited", exit);
    });
    arrangement.events.on("goesOn", () => {
      this.exit = null;
    });
    for (const change of ["painted", "placed"] as const) arrangement.events.on(change, () => this.lookAtScreen());
  }

  /** What all viewers without a focus of their own are shown. */
  get shownView(): WindowView {
    return this.view();
  }

  /** The pane that the session's name alone addresses. */
  get id(): string {
    const { state } = this.arrangement;
    return defaultPane(state, (pane) => this.arrangement.isLiving(pane)) ?? "@0";
  }

  get pid(): number | null {
    return this.info().pid;
  }

  get command(): string {
    return this.info().command;
  }

  readonly activity = {
    record: (): void => {
      this.typedAt = performance.now();
    },
    idleMs: (): number => {
      const own = Math.floor(performance.now() - this.typedAt);
      return Math.min(own, ...[...this.arrangement.links.values()].map((link) => link.idleMs()));
    },
  };

  readonly silence = { dispose: (_: WshError): void => {} };

  readonly lifetime = {
    isHangingUp: false,
    readableUntil: null as number | null,
    restart: (): Promise<void> => this.restart(),
    end: (): Promise<void> => this.end(),
    endTold: (): void => {},
  };

  /** The oldest pane; its agent is that of any pane which needs a person most. */
  info(): Omit<PaneInfo, "index" | "active"> {
    const { agent: _, ...oldest } = this.paneInfo(this.id);
    const own = Object.values(this.arrangement.state.panes).filter(({ view }) => view == null);
    const agents = own.flatMap(({ id }) => this.paneInfo(id).agent ?? []);
    const [first] = agents.toSorted((a, b) => urgencyOf(a) - urgencyOf(b) || a.since - b.since);
    return first === undefined ? oldest : { ...oldest, agent: first };
  }

  state(): SessionState {
    return this.exit === null ? this.info().state : "exited";
  }

  stateLasting() {
    return { state: this.state(), lasting: null };
  }

  async resize(rows: number, cols: number): Promise<void> {
    const area: Size = { rows, cols };
    for (const view of [this.view(), ...this.independent]) view.resize(area);
    // The views are arranged anew when the panes have been told.
    this.arrangement.resize(area);
  }

  /** What a pane reads is known in its own process, and checked there again at the write. */
  readonly secrets = {
    prompt: async (pane: string): Promise<SecretPrompt | null> => {
      const { prompt } = await this.ask(pane, "host.secret_prompt", {}, FoundPromptSchema);
      return prompt === null || this.arrangement.links.size < 2 ? prompt : { ...prompt, pane };
    },
    type: async ({ group, pane }: SecretPrompt, secret: Uint8Array): Promise<boolean> => {
      const typed = new TextDecoder().decode(secret);
      secret.fill(0);
      const input = { group, typed, before: Date.now() + PANE_MS } satisfies v.InferInput<typeof SecretInputSchema>;
      const { taken } = await this.ask(pane ?? this.id, "host.secret", input, SecretTakenSchema);
      return taken;
    },
    readers: async (): Promise<string[]> => {
      await this.refresh();
      return Object.keys(this.arrangement.state.panes).filter((pane) => this.paneInfo(pane).state === "password");
    },
  };

  async stateIn(pane: string): Promise<SessionState> {
    const { state } = await this.ask(pane, "status.get", {}, v.object({ state: SessionStateSchema }));
    return state;
  }

  reveal(pane: string): void {
    const { arrangement } = this;
    void arrangement.change(() => arrangement.commit(show(arrangement.state, pane))).catch(() => {});
  }

  flags(): null {
    return null;
  }

  typed(bytes: Uint8Array): void {
    this.view().typed.typed(bytes, null);
  }

  release(): void {
    for (const link of this.arrangement.links.values()) link.close();
  }

  /** Asks the panes whose info may be out of date; one that hangs is shown as it was. */
  async refresh(): Promise<void> {
    const limits = { ms: REFRESH_MS };
    await Promise.all([...this.arrangement.links.values()].map((link) => orUntil(link.refresh(), limits, () => {})));
  }

  windows(): WindowInfo[] {
    const { state } = this.arrangement;
    const active = activeWindow(state);
    return state.windows.map((window) => this.windowInfo(window, window.id === active.id));
  }

  nameOf(window: WindowEntry): string {
    return window.name ?? automaticName(this.paneInfo(window.active));
  }

  /** What the line above a pane says; null: nothing. */
  labelOf(pane: string): PaneLabel | null {
    return this.titled ? paneLabel(this.paneInfo(pane)) : null;
  }

  /** Asks a pane's process. @throws WshError pane_not_found, host_unavailable, and what it answers */
  private async ask<T>(pane: string, op: string, input: unknown, answer: v.GenericSchema<unknown, T>): Promise<T> {
    const asked = this.arrangement.linkOf(pane).request(op, input);
    const late = (): never => {
      throw new WshError("host_unavailable", `pane '${pane}' does not answer`);
    };
    return v.parse(answer, await orUntil(asked, { ms: PANE_MS }, late));
  }

  private windowInfo(window: WindowEntry, active: boolean): WindowInfo {
    const placement = this.arrangement.placementOf(window);
    const { rows, cols } = placement.size;
    const panes = panesIn(window).map((pane, index): PaneInfo => {
      const box = placement.boxes.get(pane);
      const place =
        box === undefined ? { hidden: true } : { row: box.row, col: box.col, rows: box.rows, cols: box.cols };
      return { ...this.paneInfo(pane), ...place, index, active: pane === window.active };
    });
    return {
      id: `@w${window.id}`,
      index: window.index,
      name: this.nameOf(window),
      active,
      rows,
      cols,
      ...(window.zoomed ? { zoomed: true } : {}),
      ...(window.synchronized ? { synchronized: true } : {}),
      panes,
    };
  }

  private paneInfo(pane: string): Omit<PaneInfo, "index" | "active"> {
    const { state, links, ended } = this.arrangement;
    const entry = state.panes[pane];
    const exit = ended.get(pane) ?? this.exit;
    const known = links.get(pane)?.paneInfo() ?? {
      ...{ id: pane, pid: null, command: "", rows: 0, cols: 0, cwd: null, title: "" },
      state: "unresponsive" as const,
    };
    return {
      ...known,
      title: entry?.title ?? known.title,
      ...(entry?.view == null ? {} : { view: nameNow(entry.view, links.get(pane)?.info.name) }),
      ...(exit === null || exit === undefined
        ? {}
        : { state: "exited" as const, exit_code: exit.code, signal: exit.signal }),
    };
  }

  private lookAtScreen(): void {
    const { links } = this.arrangement;
    const alternate = links.get(activeWindow(this.arrangement.state).active)?.frame?.modes.alternate ?? false;
    if (alternate === this.alternate) return;
    this.alternate = alternate;
    this.events.emit("alternate", alternate);
  }

  /** The program of the oldest pane starts again in its place. */
  private async restart(): Promise<void> {
    const { arrangement } = this;
    await arrangement.change(() => arrangement.restart(this.id));
  }

  private async end(): Promise<void> {
    if (this.ending) return;
    this.ending = true;
    if (this.exit === null) await this.endPanes();
    // Only now: a process that was asked already is found no more, and its answer was awaited.
    await this.endLeft();
  }

  private async endPanes(): Promise<void> {
    const { links } = this.arrangement;
    await this.arrangement.change(() => {
      for (const { id, isView } of [...links.values()]) if (isView) this.arrangement.remove(id, EXIT_UNKNOWN);
    });
    await Promise.all([this.arrangement.kept.endAll(), ...[...links.values()].map((link) => link.endProgram())]);
  }
}

/** What a view shows, by the name that its session has by now. */
function nameNow(view: string, name: string | undefined): string {
  const target = parseTarget(view);
  return target.kind === "session" && name !== undefined ? formatTarget({ ...target, name }) : view;
}
