/**
 * What is one attached terminal's own beside the session's picture: what its keys after the prefix do, its dialogs and
 * messages, and its look back. Ends with `close`.
 */
import * as v from "valibot";
import { systemClock } from "../../base/clock.ts";
import type { Instance } from "../../instance/paths.ts";
import {
  type Binding,
  type Bindings,
  bindingRows,
  isViewOperation,
  keyLabel,
  type ViewOperation,
} from "../../keys/bindings.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/asking.ts";
import { type LookInput, LookSchema } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Size } from "../../protocol/size.ts";
import { ViewerKeys } from "../../session/viewer-keys.ts";
import type { Place, PlaceKind } from "../switcher/places.ts";
import { Above, type AbovePicture, type OwnDialog } from "./above.ts";
import { allKeys } from "./all-keys.ts";
import { AskDialog } from "./ask-dialog.ts";
import { BoundKeys } from "./bound-keys.ts";
import { Looking } from "./looking.ts";
import type { Shown } from "./shown.ts";

const switchers: Readonly<Record<string, PlaceKind>> = {
  "view.windows": "windows",
  "view.sessions": "sessions",
  "view.agents": "agents",
};

export interface OwnViewPort {
  readonly viewer: number;
  readonly readOnly: boolean;
  readonly prefix: string;
  readonly bindings: Bindings;
  readonly modeKeys: LookInput["keys"];
  readonly shown: Shown;
  readonly size: Size;
  readonly isOver: boolean;
  readonly instance: Instance;
  /** Number of the session. */
  readonly session: number;
  /** Shows another session in this terminal. @throws WshError nested_session */
  go(place: Place): void;
  /** Something else is to be shown. */
  changed(): void;
  rang(): void;
  /** Typed for what is below. */
  typed(bytes: Uint8Array): void;
  /** What was copied in the session. */
  readonly copied: { readonly newest: string | null };
  /** The person has copied something. */
  copy(text: string): void;
  /** A page has dialogs of its own for this. @returns whether it was asked */
  wanted(operation: ViewOperation): boolean;
  /** Does what a key is bound to in the session. */
  operate(binding: Binding): Promise<void>;
}

export class OwnView {
  private readonly own: Above;
  private readonly looking: Looking;
  private readonly bound: BoundKeys;
  /** Splits what is typed while a dialog is open. */
  private readonly dialogKeys: ViewerKeys;

  constructor(private readonly port: OwnViewPort) {
    const changed = (): void => port.changed();
    this.looking = new Looking(port.shown, port.viewer, {
      changed,
      copied: (text) => this.copied(text),
      say: (text) => this.own.say(text),
      typed: (bytes) => port.typed(bytes),
    });
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

  /** What is shown above the session's picture; null: nothing. */
  get above(): AbovePicture | null {
    return this.own.isShown ? this.own : null;
  }

  /** Typed, and given to nobody yet. */
  get rest(): BoundKeys["rest"] {
    return this.bound.rest;
  }

  /** As BoundKeys.whileAway. */
  whileAway(ready: () => Promise<void>): Promise<void> {
    return this.bound.whileAway(ready);
  }

  showMap(shown: boolean): void {
    this.own.showMap(shown);
  }

  press(key: string): void {
    this.bound.press(key);
  }

  /** @returns whether what was typed waits for what an earlier key does */
  hold(bytes: Uint8Array): boolean {
    return this.bound.hold(bytes);
  }

  /** @returns whether what was typed is for this terminal's own dialog or look back */
  take(bytes: Uint8Array): boolean {
    if (this.own.dialog !== null) this.dialogKeys.push(this.port.viewer, bytes);
    else if (this.looking.isOn) this.looking.push(bytes);
    else return false;
    return true;
  }

  /** The person looks back at what was printed. */
  look(input: unknown): Promise<void> {
    return this.looking.begin(v.parse(LookSchema, input));
  }

  /** Asks about a key that was pressed here; `act` fails as a key does. */
  ask(question: Question, title: string, act: (answer: Answer) => Promise<void>): void {
    const answered = (answer: Answer): void => void act(answer).catch((error) => this.refused(error));
    this.own.show(new AskDialog(question, title, answered));
  }

  close(): void {
    this.own.close();
    this.looking.close();
    this.dialogKeys.dispose();
  }

  private async perform(key: string): Promise<void> {
    const { port, own } = this;
    const binding = port.bindings.get(key);
    own.hide();
    if (binding !== undefined && isViewOperation(binding.operation) && binding.operation !== "view.paste") {
      if (port.wanted(binding.operation)) return;
    }
    if (binding === undefined) own.say(`${port.prefix} ${keyLabel(key)} is bound to nothing; ? shows all keys`);
    else if (binding.operation === "view.look_back") await this.look({ keys: port.modeKeys });
    else if (binding.operation === "view.paste") this.paste();
    else if (binding.operation in switchers) await this.showPlaces(switchers[binding.operation] ?? "windows");
    else if (isViewOperation(binding.operation)) own.show(allKeys(port.prefix, bindingRows(port.bindings)));
    else if (!port.readOnly) await port.operate(binding);
  }

  private async showPlaces(kind: PlaceKind): Promise<void> {
    const { port, own } = this;
    // Loaded for who switches.
    const { Switcher } = await import("../switcher/switcher.ts");
    const switcher: OwnDialog = new Switcher(kind, {
      ...{ instance: port.instance, readOnly: port.readOnly, here: () => port.session },
      changed: () => port.changed(),
      say: (text) => own.say(text),
      go: (place) => port.go(place),
      done: () => own.hide(switcher),
    });
    own.show(switcher);
  }

  /** Types what was copied last, as the terminal itself would paste it. */
  private paste(): void {
    const { port } = this;
    const text = port.copied.newest;
    if (text === null) this.own.say("nothing was copied yet");
    else if (!port.readOnly) port.typed(pasted(text, port.shown.modes.bracketedPaste));
  }

  /** What a key is bound to could not be done. */
  private refused(error: unknown): void {
    if (this.port.isOver) return;
    this.port.rang();
    this.own.say(WshError.from(error).message);
  }

  private copied(text: string): void {
    this.port.copy(text);
    const lines = text.replace(/\n$/, "").split("\n").length;
    this.own.say(`copied ${lines === 1 ? `${Array.from(text).length} characters` : `${lines} lines`}`);
  }
}

/** Bytes of a paste; what could end it early, or act on the terminal, is left out. */
function pasted(text: string, isBracketed: boolean): Uint8Array {
  const clean = text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "").replace(/\r?\n/g, "\r");
  return new TextEncoder().encode(isBracketed ? `\x1b[200~${clean}\x1b[201~` : clean);
}
