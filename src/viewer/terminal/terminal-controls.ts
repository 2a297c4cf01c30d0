/**
 * What one attached terminal has besides the session's picture: the actions of its keys, its dialogs and
 * messages, and its copy mode. Ends with `close`.
 */
import * as v from "valibot";
import { systemClock } from "../../base/clock.ts";
import { type Binding, callsOf, keyLabel } from "../../keys/bindings.ts";
import { copyModeKeys } from "../../keys/copy-table.ts";
import { bytesForProgram } from "../../keys/passed-event.ts";
import { isViewOperation, type ViewOperation } from "../../keys/view-operations.ts";
import { isForServer } from "../../operations/routing.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { BoundKey } from "../../protocol/attach.ts";
import { CopyModeInputSchema } from "../../protocol/copy-mode.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/question.ts";
import { describeCopy } from "../../session/paste-buffers.ts";
import type { StatusTarget } from "../../session/types.ts";
import { ViewerKeys } from "../../session/viewer-keys.ts";
import type { OpenedView } from "../../session/viewers.ts";
import { BoundKeys } from "./bound-keys.ts";
import type { ControlsPort } from "./controls-port.ts";
import { PaneCopyMode } from "./copy-mode.ts";
import { isInaccessible } from "./displayed-content.ts";
import { type Menu, paneMenu, statusMenu } from "./menus.ts";
import { type LayerPicture, OverlayLayer } from "./overlay-layer.ts";
import { Pointer } from "./pointer.ts";
import { QuestionDialog } from "./question-dialog.ts";
import { ViewOperations } from "./view-operations.ts";

/** Operations for which a page has its own dialogs. */
const pageOperations: ReadonlySet<ViewOperation> = new Set([
  ...(["view.detach", "view.copy_mode", "view.windows", "view.sessions", "view.agents"] as const),
  ...(["view.command", "view.go", "view.keys", "view.buffers"] as const),
]);

/** Loaded on the first call of an operation by name. */
function loadCalls(): Promise<typeof import("../palette/calls.ts")> {
  return import("../palette/calls.ts");
}

export class TerminalControls {
  readonly pointer: Pointer;
  private readonly overlayLayer: OverlayLayer;
  private readonly copyMode: PaneCopyMode;
  private readonly operations: ViewOperations;
  readonly boundKeys: BoundKeys;
  /** Splits input while a dialog is open. */
  private readonly dialogInput: ViewerKeys;

  constructor(private readonly port: ControlsPort) {
    const changed = (): void => port.changed();
    this.copyMode = new PaneCopyMode(port.content, port.viewer, {
      changed,
      copied: (text) => this.handleCopy(text),
      say: (text) => this.overlayLayer.say(text),
      sendInput: (bytes) => port.sendInput(bytes),
      mayShare: (pane) => !port.readOnly && !isInaccessible(port, pane),
      mouse: port.mouse,
      isPlain: port.isPlain,
    });
    this.pointer = this.makePointer();
    this.overlayLayer = new OverlayLayer({ ...port, copyMode: this.copyMode, changed });
    this.dialogInput = new ViewerKeys(
      systemClock,
      (events) => {
        for (const event of this.overlayLayer.handleEvents(events, port.size)) {
          const isMarked = this.copyMode.isOn || port.content.modes.bracketedPaste;
          port.sendInput(bytesForProgram(event, isMarked));
        }
      },
      0,
    );
    this.operations = new ViewOperations(port, this.overlayLayer, {
      openCopyMode: (input) => this.openCopyMode(input),
      press: (key) => this.press(key),
      runLine: (line, signal, answer) => this.runLine(line, signal, answer),
      openMenu: (menu) => this.openMenu(menu),
      ask: (question, act) => this.ask(question, port.session.name, act),
      navigate: (work) => this.boundKeys.navigate(work),
      type: (bytes) => this.boundKeys.typeFromOperation(bytes),
    });
    this.boundKeys = new BoundKeys({
      get isOver() {
        return port.isOver;
      },
      isBound: (key) => this.currentBinding(key) !== null,
      perform: (key) => this.runKey(key),
      failed: (error) => this.showError(error),
      sendInput: (bytes) => port.sendInput(bytes),
    });
  }

  /** The overlay layer above the session's picture; null: nothing. */
  get topLayer(): LayerPicture | null {
    return this.overlayLayer.isShown ? this.overlayLayer : null;
  }

  get queuedInput(): BoundKeys["queuedInput"] {
    return [...this.boundKeys.queuedInput, ...(this.overlayLayer.dialog?.queuedInput ?? [])];
  }

  /** Whether nothing here takes input. */
  get isIdle(): boolean {
    return this.topLayer === null && this.boundKeys.isIdle;
  }

  showKeyTable(table: string | null): void {
    this.overlayLayer.showKeyTable(table);
  }

  press(key: BoundKey): void {
    this.boundKeys.press(key);
  }

  /** Whether keys without the prefix may be bound now: no dialog, question or caller takes them. */
  get acceptsBoundKeys(): boolean {
    return this.overlayLayer.dialog === null && !this.port.session.questions.isShown;
  }

  /** @returns whether the input waits for an earlier key's operation */
  queueInput(bytes: Uint8Array): boolean {
    return this.boundKeys.queueInput(bytes);
  }

  /** Whether a dialog of this terminal or copy mode takes input. */
  get takesInput(): boolean {
    return this.overlayLayer.takesInput;
  }

  /** @returns whether the input is for this terminal's own dialog */
  handleDialogInput(bytes: Uint8Array): boolean {
    if (this.overlayLayer.dialog === null) return false;
    this.dialogInput.push(this.port.viewer, bytes);
    return true;
  }

  /** Whether the terminal's only pane is in copy mode here. */
  get isInCopyMode(): boolean {
    return this.copyMode.isOn;
  }

  /** Handles input typed while `isInCopyMode`; mouse reports are in the pane's cells. */
  handleCopyModeInput(bytes: Uint8Array): void {
    this.copyMode.push(bytes);
  }

  /** Opens a view that another program requested. @throws WshError */
  async open({ view, target, act }: OpenedView): Promise<void> {
    if (act !== undefined) return this.copyMode.begin({ keys: "vi", act });
    const operation = `view.${view}` as const;
    if (this.port.isOver || this.port.askPage(operation)) return;
    this.overlayLayer.hide();
    await this.operations.run(operation, { input: {}, target });
  }

  openCopyMode(input: unknown): Promise<void> {
    return this.copyMode.begin(v.parse(CopyModeInputSchema, input));
  }

  /** Asks about a key that was pressed here; an error of `act` is shown like a key's. */
  ask(question: Question, title: string, act: (answer: Answer) => Promise<void>): void {
    const answered = (answer: Answer): void => this.boundKeys.navigate(() => act(answer));
    this.overlayLayer.show(new QuestionDialog(question, title, answered));
  }

  say(text: string): void {
    this.overlayLayer.say(text);
  }

  close(): void {
    this.overlayLayer.close();
    this.copyMode.close();
    this.dialogInput.dispose();
  }

  private makePointer(): Pointer {
    const { port, copyMode } = this;
    return new Pointer({
      targets: port.content.mouseTargets,
      get isInCopyMode() {
        return copyMode.isOn;
      },
      get isCaptured() {
        return port.session.keyboard.mode === "capture";
      },
      get handlesMouse() {
        return port.mouse.isTaken;
      },
      get copyModeKeys() {
        return port.person.copyModeKeys;
      },
      isInaccessible: (pane) => isInaccessible(port, pane),
      get top() {
        return (port.content.layout ?? port.session.layout).top;
      },
      statusAt: (row, col) => port.statusAt(row, col),
      openCopyMode: (input, pane) => copyMode.begin(input, pane),
      useStatusLine: (target, gesture) => this.useStatusLine(target, gesture),
      openMenu: () => this.openMenu(paneMenu),
      sendInput: (bytes) => port.sendTranslated(bytes),
    });
  }

  /** The status line was clicked. */
  private useStatusLine(target: StatusTarget, gesture: "left" | "right" | "up" | "down"): void {
    if (gesture === "up" || gesture === "down")
      void this.runClickedLine(`window.select to=${gesture === "up" ? "previous" : "next"}`);
    else if (target.kind === "window") {
      const selected = target.active ? Promise.resolve() : this.runClickedLine(`window.select index=${target.index}`);
      if (gesture === "right") void selected.then(() => this.openMenu(statusMenu(target.kind)));
    } else if (gesture === "right") this.openMenu(statusMenu(target.kind));
    else if (target.kind !== "line")
      void this.runClickedLine(target.kind === "agents" ? "view.agents" : "view.windows");
  }

  private openMenu({ title, items }: Menu): void {
    const choices = items.map(({ description }) => description);
    const question = { kind: "choice", question: "", detail: "", choices, multiple: false, chosen: [] } as const;
    this.overlayLayer.show(
      new QuestionDialog(question, title, (answer) => {
        const chosen = items.find(({ description }) => description === answer);
        if (chosen !== undefined) void this.runClickedLine(chosen.line);
      }),
    );
  }

  /** Runs a click's operation, and shows its error. */
  private async runClickedLine(line: string): Promise<void> {
    await this.runLine(line, new AbortController().signal).catch((error) => this.showError(error));
  }

  /** The current binding of a key: "unbound" after the prefix is reported; null: without the prefix it is typed. */
  private currentBinding({ table, key }: BoundKey): Binding | "unbound" | null {
    const { port } = this;
    const { tables, copyModeKeys: preset } = port.person;
    if (table !== "root") return tables.get(table)?.get(key) ?? "unbound";
    if (!this.acceptsBoundKeys) return null;
    const root = tables.root.get(key) ?? null;
    if (!this.copyMode.isOn && !port.content.mouseTargets.isInCopyMode(port.content.mouseTargets.active)) return root;
    return tables.copy.get(key) ?? (copyModeKeys(preset.keys, preset.bound)[key] == null ? root : null);
  }

  private async runKey(pressed: BoundKey): Promise<void> {
    const { port, overlayLayer } = this;
    overlayLayer.hide();
    const binding = this.currentBinding(pressed);
    const { table, key } = pressed;
    const where = table === "prefix" ? `${port.person.prefix} ${keyLabel(key)}` : `${keyLabel(key)} (${table})`;
    if (binding === "unbound") overlayLayer.say(`${where} is not bound; ${port.person.prefix} ? shows all keys`);
    else if (binding !== null) await this.runCalls(binding);
  }

  /** The first call that fails ends the sequence, as does one whose question waits for the person. */
  private async runCalls(binding: Binding): Promise<void> {
    for (const call of callsOf(binding)) {
      if (this.port.isOver) return;
      await this.runCall({ ...call, description: binding.description }, new AbortController().signal);
    }
  }

  /** @returns the answer, if the person should see it; else null @throws WshError */
  private async runLine(line: string, signal: AbortSignal, answerText: string | null = null): Promise<unknown> {
    const { parsePaletteLine, answerToShow } = await loadCalls();
    const binding = parsePaletteLine(line, answerText);
    try {
      const answer = await this.runCall(binding, signal);
      return answerToShow(binding, answer);
    } catch (thrown) {
      // Nothing is open that could show the error.
      if (this.overlayLayer.dialog !== null || this.port.isOver) throw thrown;
      this.showError(thrown);
      return null;
    }
  }

  private async runCall(binding: Binding, signal: AbortSignal): Promise<unknown> {
    const { port, overlayLayer } = this;
    const { operation, input, target } = binding;
    if (isViewOperation(operation)) {
      // The destination is looked up first.
      if (operation !== "view.go") overlayLayer.hide();
      if (!pageOperations.has(operation) || !port.askPage(operation))
        await this.operations.run(operation, { input, target });
      return null;
    }
    if (target === undefined && !isForServer(operation)) return port.operate(binding, signal);
    if (port.isPage)
      throw new WshError("access_denied", `'${operation}' can only be called from a terminal or the web page`);
    const { callElsewhere } = await loadCalls();
    return callElsewhere(binding, signal, { ...port, ask: (question, act) => this.ask(question, "wsh", act) });
  }

  /** A key's operation failed. */
  private showError(error: unknown): void {
    if (this.port.isOver) return;
    this.port.rang();
    this.overlayLayer.say(WshError.from(error).message);
  }

  private handleCopy(text: string): void {
    this.port.copy(text);
    this.overlayLayer.say(describeCopy(text));
  }
}
