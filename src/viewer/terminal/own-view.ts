/**
 * The parts of one attached terminal besides the session's picture: the actions of its keys, its dialogs and messages,
 * and its copy mode. Ends with `close`.
 */
import * as v from "valibot";
import { systemClock } from "../../base/clock.ts";
import { type Binding, callsOf, keyLabel } from "../../keys/bindings.ts";
import { copyModeKeys } from "../../keys/copy-table.ts";
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
import { AskDialog } from "./ask-dialog.ts";
import { BoundKeys } from "./bound-keys.ts";
import { PaneCopyMode } from "./copy-mode.ts";
import { isInaccessible } from "./displayed-content.ts";
import { type Menu, paneMenu, statusMenu } from "./menus.ts";
import { type LayerPicture, OverlayLayer } from "./overlay-layer.ts";
import { OwnOperations } from "./own-operations.ts";
import type { OwnViewPort } from "./own-port.ts";
import { Pointer } from "./pointer.ts";

/** Operations for which a page has its own dialogs. */
const pagesOwn: ReadonlySet<ViewOperation> = new Set([
  ...(["view.detach", "view.copy_mode", "view.windows", "view.sessions", "view.agents"] as const),
  ...(["view.command", "view.go", "view.keys", "view.buffers"] as const),
]);

/** Loaded on the first call of an operation by name. */
function loadCalls(): Promise<typeof import("../palette/calls.ts")> {
  return import("../palette/calls.ts");
}

export class OwnView {
  /** The mouse of this terminal. */
  readonly pointer: Pointer;
  private readonly overlayLayer: OverlayLayer;
  private readonly copyMode: PaneCopyMode;
  private readonly operations: OwnOperations;
  readonly bound: BoundKeys;
  /** Splits input while a dialog is open. */
  private readonly dialogKeys: ViewerKeys;

  constructor(private readonly port: OwnViewPort) {
    const changed = (): void => port.changed();
    this.copyMode = new PaneCopyMode(port.shown, port.viewer, {
      changed,
      copied: (text) => this.copied(text),
      say: (text) => this.overlayLayer.say(text),
      typed: (bytes) => port.typed(bytes),
      mayShare: (pane) => !port.readOnly && !isInaccessible(port, pane),
      mouse: port.mouse,
      isPlain: port.isPlain,
    });
    this.pointer = this.makePointer();
    this.overlayLayer = new OverlayLayer({ ...port, copyMode: this.copyMode, changed });
    this.dialogKeys = new ViewerKeys(
      systemClock,
      (events) => {
        for (const bytes of this.overlayLayer.pressed(events, port.size)) port.typed(bytes);
      },
      0,
    );
    this.operations = new OwnOperations(port, this.overlayLayer, {
      look: (input) => this.look(input),
      press: (key) => this.press(key),
      runLine: (line, signal, answer) => this.runLine(line, signal, answer),
      offer: (menu) => this.offer(menu),
      ask: (question, act) => this.ask(question, port.session.name, act),
      lead: (work) => this.bound.lead(work),
    });
    this.bound = new BoundKeys({
      get isOver() {
        return port.isOver;
      },
      means: (key) => this.bindingOf(key) !== null,
      perform: (key) => this.perform(key),
      failed: (error) => this.showError(error),
      typed: (bytes) => port.typed(bytes),
    });
  }

  /** The overlay layer above the session's picture; null: nothing. */
  get topLayer(): LayerPicture | null {
    return this.overlayLayer.isShown ? this.overlayLayer : null;
  }

  /** Queued input. */
  get queuedInput(): BoundKeys["rest"] {
    return [...this.bound.rest, ...(this.overlayLayer.dialog?.rest ?? [])];
  }

  /** Whether nothing here takes input. */
  get isIdle(): boolean {
    return this.topLayer === null && this.bound.isIdle;
  }

  showMap(table: string | null): void {
    this.overlayLayer.showMap(table);
  }

  press(key: BoundKey): void {
    this.bound.press(key);
  }

  /** Whether keys without the prefix may be bound now: no dialog, question or caller takes them. */
  get isFree(): boolean {
    return this.overlayLayer.dialog === null && !this.port.session.questions.isShown;
  }

  /** @returns whether the input waits for an earlier key's operation */
  hold(bytes: Uint8Array): boolean {
    return this.bound.hold(bytes);
  }

  /** @returns whether the input is for this terminal's own dialog */
  dialogInput(bytes: Uint8Array): boolean {
    if (this.overlayLayer.dialog === null) return false;
    this.dialogKeys.push(this.port.viewer, bytes);
    return true;
  }

  /** Whether the terminal's only pane is in copy mode here. */
  get isInCopyMode(): boolean {
    return this.copyMode.isOn;
  }

  /** Handles input typed while `isInCopyMode`; mouse reports are in the pane's cells. */
  copyModeInput(bytes: Uint8Array): void {
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

  /** Opens copy mode. */
  look(input: unknown): Promise<void> {
    return this.copyMode.begin(v.parse(CopyModeInputSchema, input));
  }

  /** Asks about a key that was pressed here; an error of `act` is shown like a key's. */
  ask(question: Question, title: string, act: (answer: Answer) => Promise<void>): void {
    const answered = (answer: Answer): void => this.bound.lead(() => act(answer));
    this.overlayLayer.show(new AskDialog(question, title, answered));
  }

  say(text: string): void {
    this.overlayLayer.say(text);
  }

  close(): void {
    this.overlayLayer.close();
    this.copyMode.close();
    this.dialogKeys.dispose();
  }

  private makePointer(): Pointer {
    const { port, copyMode } = this;
    return new Pointer({
      pointed: port.shown.mouseTargets,
      get isInCopyMode() {
        return copyMode.isOn;
      },
      get isOn() {
        return port.mouse.isTaken;
      },
      get copyModeKeys() {
        return port.person.copyModeKeys;
      },
      isOthers: (pane) => isInaccessible(port, pane),
      get top() {
        return (port.shown.layout ?? port.session.layout).top;
      },
      statusAt: (row, col) => port.statusAt(row, col),
      openCopyMode: (input, pane) => copyMode.begin(input, pane),
      statusLineUsed: (target, what) => this.statusLineUsed(target, what),
      openMenu: () => this.offer(paneMenu),
      typed: (bytes) => port.typeTranslated(bytes),
    });
  }

  /** The status line was clicked. */
  private statusLineUsed(target: StatusTarget, what: "left" | "right" | "up" | "down"): void {
    if (what === "up" || what === "down")
      void this.performLine(`window.select to=${what === "up" ? "previous" : "next"}`);
    else if (target.kind === "window") {
      const shown = target.active ? Promise.resolve() : this.performLine(`window.select index=${target.index}`);
      if (what === "right") void shown.then(() => this.offer(statusMenu(target.kind)));
    } else if (what === "right") this.offer(statusMenu(target.kind));
    else if (target.kind !== "line") void this.performLine(target.kind === "agents" ? "view.agents" : "view.windows");
  }

  private offer({ title, items }: Menu): void {
    const choices = items.map(({ description }) => description);
    const question = { kind: "choice", question: "", detail: "", choices, multiple: false, chosen: [] } as const;
    this.overlayLayer.show(
      new AskDialog(question, title, (answer) => {
        const chosen = items.find(({ description }) => description === answer);
        if (chosen !== undefined) void this.performLine(chosen.line);
      }),
    );
  }

  /** Runs a click's operation, and shows its error. */
  private async performLine(line: string): Promise<void> {
    await this.runLine(line, new AbortController().signal).catch((error) => this.showError(error));
  }

  /** The current binding of a key: "unbound" after the prefix is reported; null: without the prefix it is typed. */
  private bindingOf({ table, key }: BoundKey): Binding | "unbound" | null {
    const { port } = this;
    const { tables, copyModeKeys: preset } = port.person;
    if (table !== "root") return tables.get(table)?.get(key) ?? "unbound";
    if (!this.isFree) return null;
    const root = tables.root.get(key) ?? null;
    if (!this.copyMode.isOn && !port.shown.mouseTargets.isInCopyMode(port.shown.mouseTargets.active)) return root;
    return tables.copy.get(key) ?? (copyModeKeys(preset.keys, preset.bound)[key] == null ? root : null);
  }

  private async perform(pressed: BoundKey): Promise<void> {
    const { port, overlayLayer } = this;
    overlayLayer.hide();
    const binding = this.bindingOf(pressed);
    const { table, key } = pressed;
    const where = table === "prefix" ? `${port.person.prefix} ${keyLabel(key)}` : `${keyLabel(key)} (${table})`;
    if (binding === "unbound") overlayLayer.say(`${where} is not bound; ${port.person.prefix} ? shows all keys`);
    else if (binding !== null) await this.carryOutAll(binding);
  }

  /** The first call that fails ends the sequence, as does one whose question waits for the person. */
  private async carryOutAll(binding: Binding): Promise<void> {
    for (const call of callsOf(binding)) {
      if (this.port.isOver) return;
      await this.carryOut({ ...call, description: binding.description }, new AbortController().signal);
    }
  }

  /** @returns the answer, if the person should see it; else null @throws WshError */
  private async runLine(line: string, signal: AbortSignal, answered: string | null = null): Promise<unknown> {
    const { bindingOfPaletteLine, forReading } = await loadCalls();
    const binding = bindingOfPaletteLine(line, answered);
    try {
      const answer = await this.carryOut(binding, signal);
      return forReading(binding, answer);
    } catch (thrown) {
      // Nothing is open that could show the error.
      if (this.overlayLayer.dialog !== null || this.port.isOver) throw thrown;
      this.showError(thrown);
      return null;
    }
  }

  private async carryOut(binding: Binding, signal: AbortSignal): Promise<unknown> {
    const { port, overlayLayer } = this;
    const { operation, input, target } = binding;
    if (isViewOperation(operation)) {
      // The destination is looked up first.
      if (operation !== "view.go") overlayLayer.hide();
      if (!pagesOwn.has(operation) || !port.askPage(operation)) await this.operations.run(operation, { input, target });
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

  private copied(text: string): void {
    this.port.copy(text);
    this.overlayLayer.say(describeCopy(text));
  }
}
