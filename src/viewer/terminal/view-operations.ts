/**
 * The `view.` operations of one terminal: its dialogs, copy mode, moves to other sessions, programs outside of the
 * panes. Dialogs are loaded at their first use.
 */

import { type BoundCall, bindingRows } from "../../keys/bindings.ts";
import type { ViewOperation } from "../../keys/view-operations.ts";
import { isUnlimited, requireAllSessions } from "../../operations/rights.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { BoundKey } from "../../protocol/attach.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import { WshError } from "../../protocol/errors.ts";
import { sessionNumber } from "../../protocol/names.ts";
import { cleanPaste, pasteBytes } from "../../protocol/pasted-text.ts";
import type { Question } from "../../protocol/question.ts";
import type { SwitcherRow, SwitcherScope, SwitcherSource } from "../switcher/destinations.ts";
import type { ControlsPort } from "./controls-port.ts";
import { keyTableDialog } from "./key-table-dialog.ts";
import { type Menu, paneMenu, statusMenu } from "./menus.ts";
import type { OverlayLayer, TerminalDialog } from "./overlay-layer.ts";

const switchers = {
  "view.windows": "windows",
  "view.sessions": "sessions",
  "view.agents": "agents",
} as const satisfies Readonly<Record<string, SwitcherScope>>;

/** Services of the view for its operations. */
interface ViewActions {
  openCopyMode(input: CopyModeInput): Promise<void>;
  press(key: BoundKey): void;
  runLine(line: string, signal: AbortSignal, answer?: string): Promise<unknown>;
  openMenu(menu: Menu): void;
  ask(question: Question, act: (answer: Answer) => Promise<void>): void;
  /** Later input is typed at the destination. */
  navigate(work: () => Promise<void>): void;
  /** Types bytes before input that waits for the operation. */
  type(bytes: Uint8Array): void;
}

export class ViewOperations {
  constructor(
    private readonly port: ControlsPort,
    private readonly overlayLayer: OverlayLayer,
    private readonly actions: ViewActions,
  ) {}

  /** @throws WshError of the operation */
  async run(operation: ViewOperation, { input, target }: Omit<BoundCall, "operation">): Promise<void> {
    const { port } = this;
    switch (operation) {
      case "view.copy_mode":
        return this.actions.openCopyMode(port.person.copyModeKeys);
      case "view.paste":
        return this.paste(undefined);
      case "view.paste_image":
        if (port.readOnly) throw new WshError("access_denied", "a read-only terminal cannot paste");
        return port.requestImage();
      case "view.buffers":
        return this.showBuffers();
      case "view.windows":
      case "view.sessions":
      case "view.agents":
        return this.showPlaces(switchers[operation]);
      case "view.command":
        return this.showPalette();
      case "view.go":
        return this.goToTarget(target ?? "");
      case "view.keys":
        return this.showKeys();
      case "view.detach":
        return port.detach();
      case "view.ask":
        return this.askForText(input);
      case "view.session":
        return this.nextSession(input.to);
      case "view.alert":
        return this.goToAlert(input.to === "next" ? 1 : -1);
      case "view.pane_numbers": {
        const { paneNumbersDialog } = await import("./pane-numbers.ts");
        return this.overlayLayer.show(paneNumbersDialog(port, () => this.overlayLayer.hide()));
      }
      case "view.clients":
        return this.showClients();
      case "view.find":
        return this.findWindows(String(input.text));
      case "view.mark":
      case "view.unmark":
        return this.markPane(operation === "view.mark");
      case "view.swap_marked":
      case "view.join_marked":
        return this.useMarkedPane(operation === "view.swap_marked");
      case "view.info":
        return this.overlayLayer.say(this.describePosition());
      case "view.redraw":
        return port.redraw();
      case "view.menu":
        return this.actions.openMenu(
          input.of === "pane" ? paneMenu : statusMenu(input.of === "window" ? "window" : "session"),
        );
      case "view.table":
        // The reader of keys has already entered the table.
        return;
      case "view.run":
        return (await import("./run-program.ts")).runProgram(input, {
          ...port,
          say: (text) => this.overlayLayer.say(text),
        });
      case "view.send_prefix": {
        const { encodeKeys } = await import("../../keys/encode.ts");
        const { parseKeyName } = await import("../../keys/parse-name.ts");
        return this.actions.type(encodeKeys([parseKeyName(port.person.prefix)], { ...port.content.modes }));
      }
    }
  }

  private askForText({ do: line, question: asked, prepared = "" }: Readonly<Record<string, unknown>>): void {
    const initialText = prepared === "session" ? this.port.session.name : String(prepared);
    const question: Question = { kind: "text", question: String(asked), detail: "", prepared: initialText };
    this.actions.ask(question, async (answer) => {
      if (typeof answer === "string" && answer !== "")
        await this.actions.runLine(String(line), new AbortController().signal, answer);
    });
  }

  private async nextSession(to: unknown): Promise<void> {
    const { instance, by } = this.port;
    const { listDestinations } = await import("../switcher/destinations.ts");
    const all = (await listDestinations(instance, "sessions", by)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const others = all.filter(({ number }) => number !== this.sessionNumber);
    let other = others.at(0);
    if (to === "last") {
      const [{ lastAttached }, { eventsDir }] = await Promise.all([
        import("../../events/last-attached.ts"),
        import("../../events/segments.ts"),
      ]);
      const last = lastAttached(eventsDir(instance), new Set(others.map(({ target }) => target)));
      other = others.find(({ target }) => target === last);
    } else if (others.length > 0) {
      const index = all.findIndex(({ number }) => number === this.sessionNumber) + (to === "next" ? 1 : -1);
      other = all.at(index % all.length);
    }
    if (other === undefined) this.overlayLayer.say("there is no other session");
    else await this.show(other);
  }

  private async goToAlert(step: 1 | -1): Promise<void> {
    const { windows, status } = this.port.session;
    const active = this.port.content.mouseTargets.active;
    const windowIndex = windows.findIndex(({ panes }) => panes.some(({ id }) => id === active));
    for (let count = 1; count < windows.length; count++) {
      const window = windows.at((windowIndex + step * count) % windows.length);
      if (window === undefined || status?.isMarked(window.id) !== true) continue;
      await this.actions.runLine(`window.select index=${window.index}`, new AbortController().signal);
      return;
    }
    this.overlayLayer.say("no window needs you");
  }

  private async showClients(): Promise<void> {
    const { viewer, session, readOnly } = this.port;
    if (readOnly) throw new WshError("access_denied", "a read-only terminal cannot disconnect others");
    const { clientsSource } = await import("../switcher/clients.ts");
    const source = clientsSource(session, viewer);
    await this.openSwitcher(source, async (row) => source.close(row));
  }

  private async findWindows(text: string): Promise<void> {
    const { instance, by } = this.port;
    const { placesSource } = await import("../switcher/destinations.ts");
    const { searchSource } = await import("../switcher/search-results.ts");
    const source = await searchSource(placesSource(instance, "windows", by), this.sessionNumber, text);
    const rows = await source.list();
    const [onlyRow] = rows;
    if (onlyRow === undefined) this.overlayLayer.say(`no window has '${text}'`);
    else if (rows.length === 1) await this.show(onlyRow);
    else await this.openSwitcher(source, (row) => this.show(row));
  }

  private markPane(isMarking: boolean): void {
    const { active } = this.port.content.mouseTargets;
    const { session, readOnly } = this.port;
    if (readOnly) throw new WshError("access_denied", "a read-only terminal cannot mark a pane");
    session.markedPane = isMarking && session.markedPane !== active ? active : null;
    session.events.emit("info", undefined);
    this.overlayLayer.say(session.markedPane === null ? "no pane is marked" : `pane ${active} is marked`);
  }

  private async useMarkedPane(swaps: boolean): Promise<void> {
    const { port } = this;
    const { markedPane } = port.session;
    const { active } = port.content.mouseTargets;
    if (markedPane === null || markedPane === active) throw new WshError("pane_not_found", "no other pane is marked");
    port.session.markedPane = null;
    port.session.events.emit("info", undefined);
    if (swaps) await this.actions.runLine(`pane.swap with=${markedPane}`, new AbortController().signal);
    else
      await this.actions.runLine(
        `pane.move session=${markedPane} to=${active} focus=true`,
        new AbortController().signal,
      );
  }

  /** The text of tmux's display-message. */
  private describePosition(): string {
    const { session, content } = this.port;
    const { active } = content.mouseTargets;
    const window = session.windows.find(({ panes }) => panes.some(({ id }) => id === active));
    const pane = window?.panes.find(({ id }) => id === active);
    return `[${session.name}] ${window?.index}:${window?.name}, pane ${pane?.index} (${active}), ${pane?.cwd ?? ""}`;
  }

  private async showPalette(): Promise<void> {
    const { port, overlayLayer } = this;
    // Loaded on the first call of an operation by name.
    const { openPalette } = await import("../palette/open-palette.ts");
    const palette: TerminalDialog = openPalette({
      ...port,
      bindings: port.person.tables.prefix,
      lineStorage: isUnlimited(port.by) && (port.session.isPrivate ? "here" : "always"),
      run: (line, signal) => this.actions.runLine(line, signal),
      closed: (message) => {
        overlayLayer.hide(palette);
        if (message !== null) overlayLayer.say(message);
      },
    });
    overlayLayer.show(palette);
  }

  /** Goes to a session, window or pane. @throws WshError session_not_found, pane_not_found, nested_session */
  private async goToTarget(target: string): Promise<void> {
    const { findPlace } = await import("../switcher/destinations.ts");
    await this.show(await findPlace(this.port.instance, target, this.port.by));
  }

  /** Shows a place in this terminal. @throws WshError of its session, nested_session */
  private async show(place: SwitcherRow): Promise<void> {
    if (!this.port.readOnly) await this.focus(place);
    if (place.number !== this.sessionNumber) await this.port.go(place);
  }

  /** In a terminal with its own focus, only that focus moves. @throws WshError of the place's session */
  private async focus(place: SwitcherRow): Promise<void> {
    const { content } = this.port;
    if (content.isIndependent === true && place.number === this.sessionNumber && place.kind !== "session")
      content.mouseTargets.select(place.pane);
    else await (await import("../switcher/destinations.ts")).focus(place, this.port.by);
  }

  /** Number of the displayed session. */
  private get sessionNumber(): number {
    return sessionNumber(this.port.session.id);
  }

  private showKeys(): void {
    const { port } = this;
    const { prefix, tables } = port.person;
    const keys = keyTableDialog(prefix, bindingRows(tables.prefix), (row) => {
      if (row === null) {
        port.detach();
        return;
      }
      // A row of keys with different actions, such as the arrows, is ambiguous.
      const bindings = [...tables.prefix].filter(([, { description }]) => description === row.description);
      const [first] = bindings;
      if (first !== undefined && new Set(bindings.map(([, { input }]) => JSON.stringify(input))).size === 1)
        this.actions.press({ table: "prefix", key: first[0], bytes: [] });
    });
    this.overlayLayer.show(keys);
  }

  private async showPlaces(kind: SwitcherScope): Promise<void> {
    const { placesSource } = await import("../switcher/destinations.ts");
    await this.openSwitcher(placesSource(this.port.instance, kind, this.port.by), (place) => this.show(place));
  }

  private async showBuffers(): Promise<void> {
    const { buffers } = this.port.session;
    requireAllSessions(this.port.by, "view.buffers");
    const { buffersSource } = await import("../switcher/buffers.ts");
    await this.openSwitcher(buffersSource(buffers, this.port.by.caller), async ({ target }) => this.paste(target));
  }

  /** @param go the action of Enter on a row */
  private async openSwitcher(source: SwitcherSource, go: (row: SwitcherRow) => Promise<void>): Promise<void> {
    const { port, overlayLayer } = this;
    // Loaded on first use of the switcher.
    const { Switcher } = await import("../switcher/switcher.ts");
    const switcher: TerminalDialog = new Switcher(source, {
      readOnly: port.readOnly,
      currentSession: () => this.sessionNumber,
      changed: () => port.changed(),
      say: (text) => overlayLayer.say(text),
      go: (row) => this.actions.navigate(() => go(row)),
      sendInput: (bytes) => port.sendInput(bytes),
      onClosed: () => overlayLayer.hide(switcher),
    });
    overlayLayer.show(switcher);
  }

  /**
   * Types a buffer in the form of a paste by the terminal itself. @param name absent: the newest copy
   * @throws WshError buffer_not_found; access_denied: buffers belong to all sessions
   */
  private paste(name: string | undefined): void {
    const { port } = this;
    requireAllSessions(port.by, "view.paste");
    const { text } = port.session.buffers.get(name, port.by.caller);
    const { questions } = port.session;
    // As from the terminal itself, so that its text presses no key of a dialog or of copy mode.
    const isForElement = this.overlayLayer.takesInput || (questions.isShown && questions.handedOver === null);
    const isMarked = isForElement || port.content.modes.bracketedPaste;
    if (!port.readOnly) this.actions.type(pasteBytes(cleanPaste(text), isMarked));
  }
}
