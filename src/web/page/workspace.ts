/**
 * The page as a whole: the shown sessions, the open dialog, and the person's actions. Components show its signals and
 * call its methods; nothing else of the page talks to the server.
 */
import { computed, effect, signal } from "@preact/signals";
import type { CreatedSession, SessionInfo } from "../../protocol/session.ts";
import { addressField, decoded } from "../connection/address.ts";
import { ControlSocket, type ControlState } from "../connection/control-socket.ts";
import { guestDevice } from "../connection/login.ts";
import type { Server } from "../connection/server.ts";
import { BoxGlyphs } from "../terminal/box-glyphs.ts";
import { CellMeasure, onDensity } from "../terminal/cell-size.ts";
import { highlightSheet } from "../terminal/finder.ts";
import { EventFeed } from "./event-feed.ts";
import { Miniatures } from "./miniatures.ts";
import { Notices } from "./notices.ts";
import { type OpenDialog, paletteQueries } from "./open.ts";
import { SessionList, type SessionUpdate, sessions, waitingForPerson } from "./sessions.ts";
import { settings, shownTheme } from "./settings.ts";
import { Tile } from "./tile.ts";
import { showError, toast } from "./toasts.ts";

/** Time within which ending a session can be undone, in ms. */
const UNDO_MS = 5_000;
/** Maximum terminals side by side: more are unreadable. */
const MAX_TILES = 6;

export class Workspace {
  readonly tiles = signal<readonly Tile[]>([]);
  readonly active = signal<Tile | null>(null);
  readonly openDialog = signal<OpenDialog | null>(null);
  /** Whether the page is read-only: it offers nothing that would be refused. */
  readonly isReadOnly = computed(() => this.tiles.value.some(({ access }) => access.value === "observe"));
  readonly isDrawerOpen = signal(false);
  readonly connection = signal<{ readonly state: ControlState; readonly why: string }>({
    state: "connecting",
    why: "",
  });
  /** Ids of sessions that will be ended unless undone. */
  readonly endingSessions = signal<ReadonlySet<string>>(new Set());
  readonly control: ControlSocket;
  readonly list: SessionList;
  readonly miniatures: Miniatures;
  readonly measure = new CellMeasure();
  readonly glyphs = new BoxGlyphs();
  readonly notices: Notices;
  private isFirstList = true;

  /** @param isOpenedByLink whether a shared link opened the page */
  constructor(
    readonly server: Server,
    readonly isOpenedByLink: boolean,
  ) {
    document.adoptedStyleSheets = [this.glyphs.sheet, highlightSheet()];
    this.notices = new Notices((session) => this.show(session));
    this.control = new ControlSocket(server, {
      state: (state, why) => this.connectionChanged(state, why),
      event: (event) => {
        if (event.event === "frame") this.miniatures.event(event);
        else this.list.event(event);
      },
    });
    this.miniatures = new Miniatures(this.control);
    this.list = new SessionList(this.control, (what) => this.onUpdate(what));
    new EventFeed(this.control, (event, session) => {
      const shown = session.windows.find(({ active }) => active)?.id;
      const isShown = event.window === undefined || event.window === shown;
      this.notices.eventHappened(event, session, isShown && this.isVisible(session));
    });
    effect(() => {
      const { fontSize, fontFamily } = settings.value;
      void [fontSize, fontFamily];
      this.restyle();
    });
    effect(() => {
      const { size } = settings.value;
      for (const tile of this.tiles.peek()) tile.setSizeMode(size);
    });
    // Sessions in the address are opened at once, by name: their ids arrive with their first pictures.
    for (const name of sessionsInAddress().slice(0, MAX_TILES)) this.show(name, true);
    effect(() => this.applyFirstList());
    effect(() => this.updateAddress());
    effect(() => {
      const waiting = waitingForPerson.value;
      document.title = waiting === 0 ? "wsh" : `(${waiting}) wsh`;
    });
    void document.fonts.ready.then(() => this.restyle());
    const sendColors = (): void => {
      for (const tile of this.tiles.peek()) tile.sendColors();
    };
    effect(() => {
      void shownTheme.value;
      requestAnimationFrame(sendColors);
    });
    addEventListener("hashchange", () => this.goToAddress());
    addEventListener("online", () => this.retry());
    addEventListener("focus", () => this.retry());
    onDensity(() => this.restyle());
  }

  /** A guest sees one session. */
  get mayCreate(): boolean {
    return guestDevice() === null && !this.isReadOnly.value;
  }

  start(): void {
    this.control.start();
  }

  /** Shows a session, in place of the active one unless it is already shown. */
  show(session: string, isBeside = false): void {
    this.isDrawerOpen.value = false;
    const shown = this.tiles.peek().find((tile) => tile.session === session);
    if (shown !== undefined) {
      this.focus(shown);
      return;
    }
    const tile = this.tile(session);
    const tiles = this.tiles.peek();
    const active = this.active.peek();
    if (isBeside && tiles.length >= MAX_TILES) {
      toast(`At most ${MAX_TILES} sessions fit side by side.`);
      return;
    }
    if (isBeside || active === null) this.tiles.value = [...tiles, tile];
    else {
      this.tiles.value = tiles.map((each) => (each === active ? tile : each));
      active.dispose();
    }
    this.focus(tile);
  }

  /** Removes a session from the page; it continues to run. */
  hide(tile: Tile): void {
    const left = this.tiles.peek().filter((each) => each !== tile);
    this.tiles.value = left;
    tile.dispose();
    if (this.active.peek() === tile) this.focus(left.at(-1) ?? null);
  }

  focus(tile: Tile | null): void {
    this.active.value = tile;
    const takeFocus = (): void => {
      if (this.openDialog.peek() === null && this.active.peek() === tile) tile?.terminal.input.focus();
    };
    // Takes the focus now, so that no key is lost, and again later, since its element may be about to be mounted.
    takeFocus();
    requestAnimationFrame(takeFocus);
  }

  close(): void {
    this.openDialog.value = null;
    // Elements below an open dialog cannot be focused.
    document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
    this.focus(this.active.peek());
  }

  infoOf(tile: Tile): SessionInfo | undefined {
    return sessions.value.find(({ id }) => id === tile.session);
  }

  async create(
    fields: { name?: string; command?: string; cwd?: string; tags?: readonly string[] },
    beside = false,
  ): Promise<boolean> {
    try {
      const { rows, cols } = this.active.peek()?.terminal.availableSize() ?? { rows: 24, cols: 80 };
      const made = await this.control.call<CreatedSession>("create_session", { rows, cols, opened: true, ...fields });
      this.list.scheduleList(0);
      this.show(made.id, beside);
      return true;
    } catch (thrown) {
      showError(thrown);
      return false;
    }
  }

  /** Ends a session after a delay, within which that can be undone. */
  kill({ id, name }: SessionInfo): void {
    if (this.endingSessions.peek().has(id)) return;
    this.endingSessions.value = new Set([...this.endingSessions.peek(), id]);
    const pending = new AbortController();
    const finish = (): void => {
      pending.abort();
      this.endingSessions.value = new Set([...this.endingSessions.peek()].filter((each) => each !== id));
    };
    const timer = setTimeout(() => {
      finish();
      this.control.call("kill_session", {}, id).catch(showError);
    }, UNDO_MS);
    // Leaving the page ends the session at once.
    const left = (): void => {
      const init = { method: "DELETE", keepalive: true };
      this.server.request(`sessions/${encodeURIComponent(id)}`, init).catch(() => undefined);
    };
    addEventListener("pagehide", left, { signal: pending.signal });
    toast(`${name} will be killed.`, {
      ms: UNDO_MS,
      action: {
        label: "Undo",
        run: () => {
          clearTimeout(timer);
          finish();
        },
      },
    });
  }

  /** Calls an operation for the active pane; shows errors. */
  async act(method: string, params: object, target = this.target(), tile = this.active.peek()): Promise<void> {
    if (target === undefined) return;
    const call = this.control.call(method, params, target);
    // The next key goes to the result of the call, for example a new pane.
    tile?.holdInputUntil(call);
    await call.catch(showError);
    this.list.scheduleList();
  }

  target(): string | undefined {
    const tile = this.active.peek();
    return tile?.terminal.activePane?.place.id ?? tile?.session;
  }

  retry(): void {
    this.control.retry();
    for (const tile of this.tiles.peek()) tile.retry();
  }

  async copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.", { ms: 1_500 });
    } catch {
      toast("The browser does not allow copying here.", { kind: "error" });
    }
  }

  private tile(session: string): Tile {
    const { server, control, measure, glyphs } = this;
    return new Tile(session, {
      server,
      control,
      measure,
      glyphs,
      keyAction: (operation, tile) => this.runKeyAction(operation, tile),
      mayPaste: (text) =>
        new Promise((decide) => {
          this.openDialog.value = { kind: "paste", text, decide };
        }),
      copyText: (text) => void this.copy(text),
      pageKey: (event, tile) => this.pageKey(event, tile),
      isShared: (session) =>
        (sessions.peek().find(({ id, name }) => id === session || name === session)?.attached ?? 0) > 1,
      isReachable: () => this.notices.isOn,
      focusGained: (tile) => {
        this.active.value = tile;
      },
    });
  }

  /** Carries out the page's action for a key after the prefix. */
  private runKeyAction(operation: string, tile: Tile): void {
    switch (operation) {
      case "view.detach":
        this.hide(tile);
        return;
      case "view.copy_mode":
        tile.terminal.activePane?.scrollRows(-(tile.terminal.activePane.place.rows - 1));
        return;
      case "view.keys":
        this.openDialog.value = { kind: "keys" };
        return;
      default:
        this.openDialog.value = { kind: "palette", query: paletteQueries.get(operation) ?? "" };
    }
  }

  /** Keys of the page, which no terminal sends: Ctrl+Shift with a letter. */
  private pageKey(event: KeyboardEvent, tile: Tile): boolean {
    if (!event.ctrlKey || !event.shiftKey || event.altKey || event.metaKey) return false;
    switch (event.code) {
      case "KeyC": {
        const text = tile.terminal.selectedText();
        if (text !== "") void this.copy(text);
        return true;
      }
      case "KeyF":
        tile.isFindOpen.value = true;
        return true;
      case "KeyP":
      case "Space":
        this.openDialog.value = { kind: "palette", query: "" };
        return true;
      case "KeyL":
        [".session.active .choose", ".session .choose", "button"]
          .map((wanted) => document.querySelector<HTMLElement>(`.sessions ${wanted}`))
          .find((element) => element?.checkVisibility())
          ?.focus();
        return true;
      case "ArrowUp":
      case "ArrowDown":
        void this.jump(tile, event.code === "ArrowUp" ? -1 : 1);
        return true;
      default:
        return false;
    }
  }

  async jump(tile: Tile, step: 1 | -1): Promise<void> {
    const pane = tile.terminal.activePane;
    if (pane === undefined) return;
    const at = pane.topLine();
    if (at === null) return;
    const command = pane.marks.nextMark(at, step);
    if (command !== undefined) await pane.showPrompt(command);
    else if (step === 1) pane.scrollToEnd();
  }

  private connectionChanged(state: ControlState, why: string): void {
    const before = this.connection.peek().state;
    this.connection.value = { state, why };
    // The connection persists, and with it all pending requests.
    if (state === "silent" || (before === "silent" && state === "live")) return;
    if (state === "live") this.list.connected();
    else this.list.disconnected();
    // A guest may no longer see the shown sessions.
    if (state === "refused") sessions.value = [];
  }

  private onUpdate(update: SessionUpdate): void {
    this.notices.sessionUpdated(update, this.isVisible(update.session));
    if (update.kind === "command" || update.kind === "followed") {
      for (const tile of this.tilesOf(update.session)) {
        if (update.kind === "command") tile.marksChanged();
        else tile.resubscribe();
      }
    }
    if (update.kind === "gone") {
      const tile = this.tiles.peek().find(({ session }) => session === update.session.id);
      if (tile !== undefined && update.reason === "killed") this.hide(tile);
    }
  }

  private tilesOf({ id, name }: SessionInfo): Tile[] {
    // A tile has its session's name until the session answers.
    return this.tiles.peek().filter(({ session }) => session === id || session === name);
  }

  private isVisible(session: SessionInfo): boolean {
    return this.tilesOf(session).length > 0 && !document.hidden && document.hasFocus();
  }

  /** After the first list: hides sessions of the address that do not exist, and shows at least one session. */
  private applyFirstList(): void {
    const listed = sessions.value;
    if (!this.isFirstList || listed.length === 0) return;
    this.isFirstList = false;
    for (const tile of this.tiles.peek()) {
      const isKnown = listed.some(({ id, name }) => id === tile.session || name === tile.session);
      // Sessions of other machines are in no list before they are requested.
      if (isKnown || tile.session.includes("/")) continue;
      reportMissing(tile.session);
      this.hide(tile);
    }
    if (this.tiles.peek().length > 0) return;
    const [newest] = listed.toSorted((a, b) => a.last_activity_ms - b.last_activity_ms);
    if (newest !== undefined) this.show(newest.id);
  }

  /** Writes the present names of the shown sessions to the address, so that a reload shows them again. */
  private updateAddress(): void {
    const names = this.tiles.value.map(({ name }) => encodeURIComponent(name));
    const guest = guestDevice();
    const fields = [
      ...(guest === null ? [] : [`guest=${guest}`]),
      ...(names.length === 0 ? [] : [`session=${names.join(",")}`]),
    ];
    const text = fields.join("&");
    // Browsers limit how often a page may change its address.
    if (text !== location.hash.slice(1)) history.replaceState(null, "", `#${text}`);
  }

  /** Shows the sessions of a changed address: a link, an edit, or Back. */
  private goToAddress(): void {
    const wanted = sessionsInAddress().slice(0, MAX_TILES);
    const listed = sessions.peek();
    const found = wanted.flatMap((name) => {
      const id =
        listed.find((each) => each.name === name || each.id === name)?.id ?? (name.includes("/") ? name : undefined);
      if (id === undefined) reportMissing(name);
      return id ?? [];
    });
    if (found.length > 0) {
      for (const tile of this.tiles.peek()) if (!found.includes(tile.session)) this.hide(tile);
      for (const id of found) this.show(id, true);
    }
    this.updateAddress();
  }

  private restyle(): void {
    if (!this.measure.measure(document.body)) return;
    const { width, height, spacing } = this.measure.size;
    const { style } = document.documentElement;
    style.setProperty("--cell-width", `${width}px`);
    style.setProperty("--cell-height", `${height}px`);
    style.setProperty("--cell-spacing", `${spacing}px`);
    this.glyphs.clear();
    for (const tile of this.tiles.peek()) tile.terminal.restyle();
  }
}

function reportMissing(name: string): void {
  toast(`No session is named '${name}'.`, { kind: "error" });
}

/** Names of sessions in the page's address: `#session=dev,build`. */
function sessionsInAddress(): string[] {
  const names = (addressField("session") ?? "").split(",").filter(Boolean);
  return names.map((name) => decoded(name).normalize());
}
