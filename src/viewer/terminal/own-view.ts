/**
 * The parts of one attached terminal beside the session's picture: the actions of its keys after the prefix, its
 * dialogs and messages, and its copy mode. Ends with `close`.
 */
import * as v from "valibot";
import { systemClock } from "../../base/clock.ts";
import type { Instance } from "../../instance/paths.ts";
import { type Binding, bindingRows, isViewOperation, keyLabel, type ViewOperation } from "../../keys/bindings.ts";
import { isUnlimited, requireAllSessions } from "../../operations/rights.ts";
import { isForServer } from "../../operations/routing.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/asking.ts";
import { LookSchema } from "../../protocol/attach.ts";
import type { Acting } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Size } from "../../protocol/size.ts";
import { cleanPaste, describeCopy } from "../../session/paste-buffers.ts";
import type { Session } from "../../session/session.ts";
import type { StatusTarget } from "../../session/types.ts";
import { ViewerKeys } from "../../session/viewer-keys.ts";
import type { OpenedView, SessionPlace } from "../../session/viewers.ts";
import type { SwitcherRow, SwitcherScope, SwitcherSource } from "../switcher/places.ts";
import { Above, type AbovePicture, type OwnDialog } from "./above.ts";
import { allKeys } from "./all-keys.ts";
import { AskDialog } from "./ask-dialog.ts";
import { BoundKeys } from "./bound-keys.ts";
import { Looking } from "./copy-mode.ts";
import { type Menu, paneMenu, statusMenu } from "./menus.ts";
import type { PersonKeys } from "./person-keys.ts";
import { Pointer } from "./pointer.ts";
import { isOthers, type Shown } from "./shown.ts";

const switchers = {
  "view.windows": "windows",
  "view.sessions": "sessions",
  "view.agents": "agents",
} as const satisfies Readonly<Record<string, SwitcherScope>>;

/** Loaded on the first call of an operation by name. */
function loadCalls(): Promise<typeof import("../palette/calls.ts")> {
  return import("../palette/calls.ts");
}

export interface OwnViewPort {
  readonly viewer: number;
  readonly readOnly: boolean;
  readonly by: Acting;
  readonly person: Pick<PersonKeys, "prefix" | "bindings" | "modeKeys">;
  /** The terminal has NO_COLOR. */
  readonly isPlain: boolean;
  readonly shown: Shown;
  readonly size: Size;
  readonly isOver: boolean;
  readonly instance: Instance;
  readonly session: Pick<Session, "id" | "buffers" | "isPrivate" | "layout">;
  /** The part of the status line at a cell of the terminal. */
  statusAt(row: number, col: number): StatusTarget | null;
  /** Whether the mouse may be taken from the terminal, and whether it is, while nothing of this view needs it. */
  readonly mouse: { readonly isAllowed: boolean; readonly isTaken: boolean };
  /** Shows another session in this terminal. @throws WshError nested_session */
  go(place: SessionPlace): Promise<void>;
  /** Something else is to be shown. */
  changed(): void;
  rang(): void;
  /** Passes input on to the program below. */
  typed(bytes: Uint8Array): void;
  /** The same, with mouse reports in its cells. */
  placed(bytes: Uint8Array): void;
  /** The person has copied something. */
  copy(text: string): void;
  /** A page has its own dialogs for this. @returns whether the page was asked */
  wanted(operation: ViewOperation): boolean;
  /** A page's caller may do less than the person here: its keys act on this session alone. */
  readonly isPage: boolean;
  /** Runs a key's operation in the session. @returns its answer @throws WshError */
  operate(binding: Binding, signal: AbortSignal): Promise<unknown>;
  detach(): void;
}

export class OwnView {
  /** The mouse of this terminal. */
  readonly pointer: Pointer;
  private readonly own: Above;
  private readonly looking: Looking;
  readonly bound: BoundKeys;
  /** Splits input while a dialog is open. */
  private readonly dialogKeys: ViewerKeys;

  constructor(private readonly port: OwnViewPort) {
    const changed = (): void => port.changed();
    this.looking = new Looking(port.shown, port.viewer, {
      changed,
      copied: (text) => this.copied(text),
      say: (text) => this.own.say(text),
      typed: (bytes) => port.typed(bytes),
      mayShare: (pane) => !port.readOnly && !isOthers(port, pane),
      mouse: port.mouse,
      isPlain: port.isPlain,
    });
    this.pointer = this.pointing();
    this.own = new Above({ ...port, looking: this.looking, changed });
    this.dialogKeys = new ViewerKeys(systemClock, (events) => {
      for (const bytes of this.own.pressed(events, port.size)) port.typed(bytes);
    });
    this.bound = new BoundKeys({
      get isOver() {
        return port.isOver;
      },
      perform: (key) => this.perform(key),
      failed: (error) => this.refused(error),
      typed: (bytes) => port.typed(bytes),
    });
  }

  /** The overlay layer above the session's picture; null: nothing. */
  get above(): AbovePicture | null {
    return this.own.isShown ? this.own : null;
  }

  /** Queued input. */
  get rest(): BoundKeys["rest"] {
    return [...this.bound.rest, ...(this.own.dialog?.rest ?? [])];
  }

  /** Nothing here takes input. */
  get isIdle(): boolean {
    return this.above === null && this.bound.isIdle;
  }

  showMap(shown: boolean): void {
    this.own.showMap(shown);
  }

  press(key: string): void {
    this.bound.press(key);
  }

  /** @returns whether the input waits for an earlier key's operation */
  hold(bytes: Uint8Array): boolean {
    return this.bound.hold(bytes);
  }

  /** @returns whether the input is for this terminal's own dialog */
  take(bytes: Uint8Array): boolean {
    if (this.own.dialog === null) return false;
    this.dialogKeys.push(this.port.viewer, bytes);
    return true;
  }

  /** The terminal's one pane is in copy mode here. */
  get isLooking(): boolean {
    return this.looking.isOn;
  }

  /** Typed while `isLooking`; reports of the mouse are in the pane's cells. */
  looks(bytes: Uint8Array): void {
    this.looking.push(bytes);
  }

  /** Opens a view by a call of another program. @throws WshError */
  async open({ view, target }: OpenedView): Promise<void> {
    const operation = `view.${view}` as const;
    if (this.port.isOver || this.port.wanted(operation)) return;
    this.own.hide();
    await this.ofView(operation, target);
  }

  /** Opens copy mode. */
  look(input: unknown): Promise<void> {
    return this.looking.begin(v.parse(LookSchema, input));
  }

  /** Asks about a key that was pressed here; `act` fails as a key does. */
  ask(question: Question, title: string, act: (answer: Answer) => Promise<void>): void {
    const answered = (answer: Answer): void => this.bound.lead(() => act(answer));
    this.own.show(new AskDialog(question, title, answered));
  }

  say(text: string): void {
    this.own.say(text);
  }

  close(): void {
    this.own.close();
    this.looking.close();
    this.dialogKeys.dispose();
  }

  private pointing(): Pointer {
    const { port, looking } = this;
    return new Pointer({
      pointed: port.shown.pointed,
      get isLooking() {
        return looking.isOn;
      },
      get isOn() {
        return port.mouse.isTaken;
      },
      get modeKeys() {
        return port.person.modeKeys;
      },
      isOthers: (pane) => isOthers(port, pane),
      get top() {
        return (port.shown.layout ?? port.session.layout).top;
      },
      statusAt: (row, col) => port.statusAt(row, col),
      look: (input, pane) => looking.begin(input, pane),
      status: (target, what) => this.clicked(target, what),
      offer: () => this.offer(paneMenu),
      typed: (bytes) => port.placed(bytes),
    });
  }

  /** The status line was clicked. */
  private clicked(target: StatusTarget, what: "left" | "right" | "up" | "down"): void {
    if (what === "up" || what === "down")
      void this.performed(`window.select to=${what === "up" ? "previous" : "next"}`);
    else if (target.kind === "window") {
      const shown = target.active ? Promise.resolve() : this.performed(`window.select index=${target.index}`);
      if (what === "right") void shown.then(() => this.offer(statusMenu(target)));
    } else if (what === "right") this.offer(statusMenu(target));
    else if (target.kind !== "line") void this.performed(target.kind === "agents" ? "view.agents" : "view.windows");
  }

  private offer({ title, items }: Menu): void {
    const choices = items.map(({ says }) => says);
    const question = { kind: "choice", question: "", detail: "", choices, multiple: false, chosen: [] } as const;
    this.own.show(
      new AskDialog(question, title, (answer) => {
        const chosen = items.find(({ says }) => says === answer);
        if (chosen !== undefined) void this.performed(chosen.line);
      }),
    );
  }

  /** Runs a click's operation, and shows its error. */
  private async performed(line: string): Promise<void> {
    await this.runLine(line, new AbortController().signal).catch((error) => this.refused(error));
  }

  private async perform(key: string): Promise<void> {
    const { port, own } = this;
    own.hide();
    const binding = port.person.bindings.get(key);
    if (binding === undefined) own.say(`${port.person.prefix} ${keyLabel(key)} is not bound; ? shows all keys`);
    else await this.carryOut(binding, new AbortController().signal);
  }

  /** @returns the answer, if it is for the person to read; else null @throws WshError */
  private async runLine(line: string, signal: AbortSignal): Promise<unknown> {
    const { bindingOfPaletteLine, forReading } = await loadCalls();
    const binding = bindingOfPaletteLine(line);
    try {
      const answer = await this.carryOut(binding, signal);
      return forReading(binding, answer);
    } catch (thrown) {
      // Nothing is open that could show it.
      if (this.own.dialog !== null || this.port.isOver) throw thrown;
      this.refused(thrown);
      return null;
    }
  }

  private async carryOut(binding: Binding, signal: AbortSignal): Promise<unknown> {
    const { port, own } = this;
    const { operation, target } = binding;
    if (isViewOperation(operation)) {
      // The destination is looked up first.
      if (operation !== "view.go") own.hide();
      if (operation === "view.paste" || !port.wanted(operation)) await this.ofView(operation, target);
      return null;
    }
    if (target === undefined && !isForServer(operation)) return port.operate(binding, signal);
    if (port.isPage)
      throw new WshError("access_denied", `'${operation}' can only be called from a terminal or the web page`);
    const { callElsewhere } = await loadCalls();
    return callElsewhere(binding, signal, { ...port, ask: (question, act) => this.ask(question, "wsh", act) });
  }

  /** Operations of the terminal itself. */
  private async ofView(operation: ViewOperation, target: string | undefined): Promise<void> {
    const { port } = this;
    switch (operation) {
      case "view.look_back":
        return this.look({ keys: port.person.modeKeys });
      case "view.paste":
        return this.paste(port.session.buffers.newest);
      case "view.buffers":
        return this.showBuffers();
      case "view.windows":
      case "view.sessions":
      case "view.agents":
        return this.showPlaces(switchers[operation]);
      case "view.command":
        return this.showPalette();
      case "view.go":
        return this.goTo(target ?? "");
      case "view.keys":
        return this.showKeys();
      case "view.detach":
        return port.detach();
      case "view.send_prefix": {
        const { encodeKeys } = await import("../../keys/encode.ts");
        return port.typed(encodeKeys([port.person.prefix], { ...port.shown.modes }));
      }
    }
  }

  private async showPalette(): Promise<void> {
    const { port, own } = this;
    // Loaded on the first call of an operation by name.
    const { openPalette } = await import("../palette/open.ts");
    const palette: OwnDialog = openPalette({
      ...port,
      bindings: port.person.bindings,
      remembers: isUnlimited(port.by) && (port.session.isPrivate ? "here" : "always"),
      run: (line, signal) => this.runLine(line, signal),
      done: (said) => {
        own.hide(palette);
        if (said !== null) own.say(said);
      },
    });
    own.show(palette);
  }

  /** Goes to a session, window or pane. @throws WshError session_not_found, pane_not_found, nested_session */
  private async goTo(target: string): Promise<void> {
    const { placeOf } = await import("../switcher/places.ts");
    await this.show(await placeOf(this.port.instance, target, this.port.by));
  }

  /** Shows a place in this terminal. @throws WshError of its session, nested_session */
  private async show(place: SwitcherRow): Promise<void> {
    if (!this.port.readOnly) await this.focus(place);
    if (place.number !== this.number) await this.port.go(place);
  }

  /** In a terminal with its own focus only that focus moves. @throws WshError of the place's session */
  private async focus(place: SwitcherRow): Promise<void> {
    const { shown } = this.port;
    if (shown.isIndependent === true && place.number === this.number && place.kind !== "session")
      shown.pointed.select(place.pane);
    else await (await import("../switcher/places.ts")).focus(place, this.port.by);
  }

  /** Of the session that is shown. */
  private get number(): number {
    return Number(this.port.session.id.slice(2));
  }

  private showKeys(): void {
    const { port } = this;
    const keys = allKeys(port.person.prefix, bindingRows(port.person.bindings), (row) => {
      if (row === null) {
        port.detach();
        return;
      }
      // A row of keys with different actions, such as the arrows, is ambiguous.
      const meant = [...port.person.bindings].filter(([, { says }]) => says === row.says);
      const [first] = meant;
      if (first !== undefined && new Set(meant.map(([, { input }]) => JSON.stringify(input))).size === 1)
        this.press(first[0]);
    });
    this.own.show(keys);
  }

  private async showPlaces(kind: SwitcherScope): Promise<void> {
    const { placesSource } = await import("../switcher/places.ts");
    await this.choose(placesSource(this.port.instance, kind, this.port.by), (place) => this.show(place));
  }

  private async showBuffers(): Promise<void> {
    const { buffers } = this.port.session;
    requireAllSessions(this.port.by, "view.buffers");
    const { buffersSource } = await import("../switcher/buffers.ts");
    await this.choose(buffersSource(buffers), async ({ target }) => this.paste(buffers.get(target).text));
  }

  /** @param go what Enter does with a row */
  private async choose(source: SwitcherSource, go: (row: SwitcherRow) => Promise<void>): Promise<void> {
    const { port, own } = this;
    // Loaded on first use of the switcher.
    const { Switcher } = await import("../switcher/switcher.ts");
    const switcher: OwnDialog = new Switcher(source, {
      ...{ readOnly: port.readOnly, here: () => this.number },
      changed: () => port.changed(),
      say: (text) => own.say(text),
      go: (row) => this.bound.lead(() => go(row)),
      typed: (bytes) => port.typed(bytes),
      done: () => own.hide(switcher),
    });
    own.show(switcher);
  }

  /** Types a text, as the terminal itself would paste it. @throws WshError access_denied: buffers are all sessions' */
  private paste(text: string | null): void {
    const { port } = this;
    requireAllSessions(port.by, "view.paste");
    if (text === null) this.own.say("nothing has been copied yet");
    else if (!port.readOnly) port.typed(pasted(text, port.shown.modes.bracketedPaste));
  }

  /** A key's operation failed. */
  private refused(error: unknown): void {
    if (this.port.isOver) return;
    this.port.rang();
    this.own.say(WshError.from(error).message);
  }

  private copied(text: string): void {
    this.port.copy(text);
    this.own.say(describeCopy(text));
  }
}

function pasted(text: string, isBracketed: boolean): Uint8Array {
  const clean = cleanPaste(text);
  return new TextEncoder().encode(isBracketed ? `\x1b[200~${clean}\x1b[201~` : clean);
}
