/**
 * What `view.` operations do at one terminal: its dialogs, copy mode, going to other places, programs outside of the
 * panes. Dialogs are loaded at their first use.
 */
import { bindingRows, type Call } from "../../keys/bindings.ts";
import type { ViewOperation } from "../../keys/view-operations.ts";
import { isUnlimited, requireAllSessions } from "../../operations/rights.ts";
import type { BoundKey, LookInput } from "../../protocol/attach.ts";
import { cleanPaste } from "../../session/paste-buffers.ts";
import type { SwitcherRow, SwitcherScope, SwitcherSource } from "../switcher/places.ts";
import type { Above, OwnDialog } from "./above.ts";
import { allKeys } from "./all-keys.ts";
import type { OwnViewPort } from "./own-port.ts";

const switchers = {
  "view.windows": "windows",
  "view.sessions": "sessions",
  "view.agents": "agents",
} as const satisfies Readonly<Record<string, SwitcherScope>>;

/** What the view that has them does for them. */
export interface OwnActions {
  look(input: LookInput): Promise<void>;
  press(key: BoundKey): void;
  runLine(line: string, signal: AbortSignal): Promise<unknown>;
  /** Later input is typed where it leads. */
  lead(work: () => Promise<void>): void;
}

export class OwnOperations {
  constructor(
    private readonly port: OwnViewPort,
    private readonly own: Above,
    private readonly ui: OwnActions,
  ) {}

  /** @throws WshError of the operation */
  async run(operation: ViewOperation, { input, target }: Omit<Call, "operation">): Promise<void> {
    const { port } = this;
    switch (operation) {
      case "view.look_back":
        return this.ui.look(port.person.look);
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
      case "view.table":
        // The reader of keys has entered it.
        return;
      case "view.run":
        return (await import("./run.ts")).run(input, { ...port, say: (text) => this.own.say(text) });
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
      bindings: port.person.tables.prefix,
      remembers: isUnlimited(port.by) && (port.session.isPrivate ? "here" : "always"),
      run: (line, signal) => this.ui.runLine(line, signal),
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
    const { prefix, tables } = port.person;
    const keys = allKeys(prefix, bindingRows(tables.prefix), (row) => {
      if (row === null) {
        port.detach();
        return;
      }
      // A row of keys with different actions, such as the arrows, is ambiguous.
      const meant = [...tables.prefix].filter(([, { says }]) => says === row.says);
      const [first] = meant;
      if (first !== undefined && new Set(meant.map(([, { input }]) => JSON.stringify(input))).size === 1)
        this.ui.press({ table: "prefix", key: first[0], bytes: [] });
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
      go: (row) => this.ui.lead(() => go(row)),
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
}

function pasted(text: string, isBracketed: boolean): Uint8Array {
  const clean = cleanPaste(text);
  return new TextEncoder().encode(isBracketed ? `\x1b[200~${clean}\x1b[201~` : clean);
}
