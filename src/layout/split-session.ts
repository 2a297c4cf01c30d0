/**
 * A session of several panes, as its socket serves it: requests go to handlers here, or name the pane's process that
 * has to be asked; terminals are shown the composed window; what happens to windows and panes is reported.
 */
import * as v from "valibot";
import { goWith } from "../endpoint/go.ts";
import type { ClientStreams, Served, StreamedWindow } from "../endpoint/served.ts";
import type { Instance } from "../instance/paths.ts";
import { linkWindow } from "../instance/registry/members.ts";
import { WshError } from "../protocol/errors.ts";
import { type LayoutEvent, layoutChanges } from "../protocol/layout-events.ts";
import { formatTarget, parseTarget, type Target, windowId } from "../protocol/names.ts";
import type { WindowInfo } from "../protocol/session.ts";
import { meantWindow } from "../protocol/window-target.ts";
import type { Session } from "../session/session.ts";
import type { SessionPlace } from "../session/viewers.ts";
import { askedFirst } from "../session/windows/asked-first.ts";
import { activeWindow, findPlace, type Place, type Windows } from "../session/windows/state.ts";
import { SaveToSchema } from "../store/checkpoint/named.ts";
import type { Peer, PeerRequest } from "../wire/peer.ts";
import type { Arrangement } from "./arrangement.ts";
import type { Content } from "./content.ts";
import { OWN_CONTEXT } from "./pane-link.ts";
import type { PaneStarter } from "./pane-starter.ts";
import type { Split } from "./split.ts";
import { ownFocus, WindowView } from "./view.ts";

/** How many views may lie between a target and the pane that it means. */
const MOST_VIEWS = 8;
const ResolveSchema = v.object({ through: v.optional(v.number(), 0) });

export interface SplitSessionPort extends Omit<Split, "place" | "elsewhere"> {
  /** What all viewers without a focus of their own are shown. */
  readonly view: WindowView;
  /** Writes a named checkpoint. */
  saveTo(folder: string): Promise<void>;
}

export class SplitSession implements Split {
  readonly session: Session<Content>;
  readonly arrangement: Arrangement;
  readonly content: Content;
  readonly starter: PaneStarter;
  readonly instance: Instance;
  readonly host: number;
  readonly number: number;
  private readonly saveTo: SplitSessionPort["saveTo"];
  private readonly shared: WindowView;
  /** Windows and panes as they were last reported. */
  private windows: readonly WindowInfo[];
  private operations: Promise<typeof import("./operations/dispatch.ts")> | null = null;

  constructor(port: SplitSessionPort) {
    this.session = port.session;
    this.arrangement = port.arrangement;
    this.content = port.content;
    this.starter = port.starter;
    this.instance = port.instance;
    this.host = port.host;
    this.number = port.number;
    this.saveTo = (folder) => port.saveTo(folder);
    this.shared = port.view;
    const { arrangement, session } = this;
    this.windows = this.content.windows();
    for (const change of ["settled", "placed"] as const) arrangement.events.on(change, () => this.compare());
    arrangement.events.on("placed", () => this.resize());
    arrangement.events.on("listed", () => session.events.emit("listed", undefined));
    arrangement.events.on("changed", ({ before, after }) => this.changed(before, after));
    arrangement.events.on("paneEnded", ({ pane, exit, kept }) => {
      this.tell({ event: "pane_exited", pane, exit_code: exit.code, signal: exit.signal, kept });
    });
    arrangement.events.on("copied", ({ base64 }) => session.buffers.copied(base64));
    session.events.on("renamed", ({ new_name }) => this.tellPanes({ name: new_name }));
    let wasPrivate = session.isPrivate;
    session.events.on("info", () => {
      if (session.isPrivate === wasPrivate) return;
      wasPrivate = session.isPrivate;
      this.tellPanes({ private: wasPrivate });
    });
    this.starter.keepSpare();
  }

  /** The window that the session's ids in the registry name first. */
  get firstWindow(): number {
    return Math.min(...this.arrangement.state.windows.map(({ id }) => id));
  }

  dispose(): void {
    this.starter[Symbol.dispose]();
    this.shared.dispose();
  }

  /** Calls back when what the file keeps has changed, besides the layout. */
  onChange(save: () => void): void {
    const { events } = this.session;
    const saved = (): void => {
      try {
        save();
      } catch {
        // The layout as it was last written is still there, and the next change tries again.
      }
    };
    for (const change of ["renamed", "tagged", "drawn", "resized"] as const) events.on(change, saved);
  }

  private tellPanes(served: { readonly name?: string; readonly private?: boolean }): void {
    const { links, state } = this.arrangement;
    for (const [pane, link] of links) {
      if (state.panes[pane]?.view == null) link.request("host.served", served, OWN_CONTEXT).catch(() => {});
    }
  }

  served(): Served {
    const { session, content } = this;
    const self = this;
    return {
      session,
      role: "layout",
      isMember: false,
      get paneId() {
        return content.id;
      },
      begin: (watchers) => {
        this.arrangement.events.on("agent", ({ pane, agent }) => watchers.agent(pane, agent));
        this.arrangement.events.on("go", ({ pane, place }) => void goOf(session, pane, place));
      },
      window: (target) => this.streamed(target),
      shown: (request, peer) => this.shown(request, peer),
      refresh: () => content.refresh(),
      async askedFirst(binding, shown) {
        if (!(shown instanceof WindowView)) return null;
        await content.refresh();
        return askedFirst(binding, { name: session.name, windows: content.windows() }, shown.active);
      },
      async bound({ operation: op, input }, shown, { by, about, signal = new AbortController().signal }) {
        if (!(shown instanceof WindowView)) return null;
        const { isForPane } = await import("../operations/routing.ts");
        const target = about ?? shown.active;
        if (isForPane(op, target)) {
          return self.arrangement.linkOf(target).request(op, input, { ...by, signal });
        }
        const { operate } = await self.load();
        return operate(self, { op, input, target, ...by, signal }, shown);
      },
      between: async (request) => {
        if (request.op === "host.resolve") return this.resolve(request);
        if (request.op === "host.checkpoint") {
          await this.saveTo(v.parse(SaveToSchema, request.input).folder);
          return {};
        }
        if (request.op !== "host.adopt") {
          throw new WshError("unknown_method", `this layout process knows no request '${request.op}'`);
        }
        const { adopt } = await import("./moving.ts");
        return adopt(this, request);
      },
      operate: async (request) => (await this.load()).operate(this, request),
      clients: async () => this.clients(),
    };
  }

  /**
   * Finds what a request is about.
   * @param target as the caller wrote it; absent: the session as a whole, which means its oldest pane
   * @throws WshError pane_not_found
   */
  place(target: string | undefined): Place {
    const parsed: Target = target === undefined ? { kind: "session_id", id: this.number } : parseTarget(target);
    const { arrangement, content } = this;
    return findPlace(
      arrangement.state,
      parsed,
      (pane) => arrangement.isLiving(pane),
      (each) => content.nameOf(each),
    );
  }

  /**
   * The pane that a request is about, and the socket of its process; of a view whose session has several panes, the one
   * that is meant there.
   * @throws WshError pane_not_found, invalid_layout for views that show each other
   */
  private async resolve({ target, input }: PeerRequest): Promise<object> {
    const { pane } = this.place(target);
    const link = this.arrangement.linkOf(pane);
    const { through } = v.parse(ResolveSchema, input);
    if (through > MOST_VIEWS) throw new WshError("invalid_layout", `pane '${pane}' is a view of a view, without end`);
    const own = { pane, socket: link.socket };
    if (!link.isView) return own;
    try {
      return v.parse(v.looseObject({}), await link.request("host.resolve", { through: through + 1 }));
    } catch (error) {
      // The process of a session with one pane: that is it.
      if (WshError.from(error).code === "unknown_method") return own;
      throw error;
    }
  }

  /** Where the pane that a request is about is served. @throws WshError pane_not_found, moved */
  elsewhere(target: string | undefined): WshError {
    const { pane } = this.place(target);
    const { socket } = this.arrangement.linkOf(pane);
    const said = target === undefined ? "the session" : `'${formatTarget(parseTarget(target))}'`;
    return new WshError("moved", `${said} means pane '${pane}', which has a process of its own`, { pane, socket });
  }

  private load(): Promise<typeof import("./operations/dispatch.ts")> {
    this.operations ??= import("./operations/dispatch.ts");
    return this.operations;
  }

  private shown(request: PeerRequest, peer: Peer): WindowView {
    const { input } = request;
    const isIndependent = typeof input === "object" && input !== null && "independent" in input && input.independent;
    if (isIndependent !== true) return this.shared;
    const { rows, cols } = this.shared;
    const view = new WindowView(this.arrangement, { rows, cols }, this.content, ownFocus(this.arrangement));
    this.content.independent.add(view);
    this.arrangement.watch(view, view.window.id);
    peer.onClosed = () => {
      this.content.independent.delete(view);
      this.arrangement.watch(view, null);
      view.dispose();
    };
    return view;
  }

  /** A window for a stream, which changes nobody's view and no size. */
  private streamed(target: string | undefined): StreamedWindow {
    const { arrangement, shared, content } = this;
    const { state } = arrangement;
    if (target === undefined) {
      return {
        get id() {
          return windowId(activeWindow(now()).id);
        },
        shown: shared,
        dispose: () => {},
      };
    }
    const found =
      state.windows.find(({ id }) => windowId(id) === target) ??
      meantWindow(
        state.windows,
        { kind: "session", name: this.session.name, window: target },
        { automatic: (each) => content.nameOf(each), id: ({ id }) => windowId(id) },
      )?.window;
    if (found === undefined) throw new WshError("pane_not_found", `the session has no window '${target}'`);
    const view = new WindowView(arrangement, arrangement.sizeOf(found), content, null, found.id);
    return {
      get id() {
        return now().windows.some(({ id }) => id === found.id) ? windowId(found.id) : null;
      },
      shown: view,
      dispose: () => view.dispose(),
    };

    function now(): Windows {
      return arrangement.state;
    }
  }

  /** Who looks at the session's active window may be others now: it has the size of those. */
  private resize(): void {
    const { session, content } = this;
    const size = content.independent.size === 0 ? null : session.viewers.size();
    if (size === null || (size.rows === session.size.rows && size.cols === session.size.cols)) return;
    session.resize().catch(() => {});
  }

  /** Streams of one pane are its own process's. */
  private clients(): ClientStreams {
    return {
      request: ({ target }) => Promise.reject(this.elsewhere(target)),
    };
  }

  private changed(before: Windows, after: Windows): void {
    const { host: id, number: session, instance } = this;
    const [old, now] = [before, after].map(({ windows }) => new Set(windows.map((window) => window.id)));
    for (const window of now?.difference(old ?? new Set()) ?? [])
      void linkWindow(instance, { id, session, window }, true);
    for (const window of old?.difference(now ?? new Set()) ?? [])
      void linkWindow(instance, { id, session, window }, false);
  }

  /** Reports what has happened to windows and panes since the last time: by a call, by itself, or to a program's name. */
  private compare(): void {
    const before = this.windows;
    this.windows = this.content.windows();
    for (const event of layoutChanges(before, this.windows)) this.tell(event);
  }

  private tell(event: LayoutEvent): void {
    this.session.events.emit("layout", event);
  }
}

/** Nobody waits for an answer: the person at the terminal is told what is wrong. */
async function goOf(session: Session<Content>, pane: string, place: SessionPlace): Promise<void> {
  const entered = session.entered.in(pane);
  try {
    if (entered !== null) await goWith(session, entered, place);
  } catch (thrown) {
    for (const viewer of session.viewers.all)
      if (viewer.id === entered?.viewer) viewer.say(WshError.from(thrown).message);
  }
}
