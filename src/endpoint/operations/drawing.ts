/** Session operations on overlays, panels, focus, captured keys and screen mode. */

import type { OperationOutput } from "../../operations/table.ts";
import { type Caller, callerLabel } from "../../protocol/caller.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import type { KeyboardOwner } from "../../session/keyboard.ts";
import type { Session } from "../../session/session.ts";
import type { SessionHandlers } from "./context.ts";

type ElementOperation = Extract<
  keyof SessionHandlers,
  | `overlay.${string}`
  | `panel.${string}`
  | `element.${string}`
  | `focus.${string}`
  | `screen_mode.${string}`
  | "input.mode"
  | "input.capture"
  | "input.release"
  | "input.keys"
>;

export const elementHandlers: Pick<SessionHandlers, ElementOperation> = {
  "overlay.create": (session, input, { caller }) => {
    session.requireRunning();
    const { id } = session.elements.createOverlay(input);
    session.makers.record("overlay", id, agentName(caller));
    return { id };
  },
  "overlay.list": ({ elements }) => asMutable(elements.overlays()),
  "overlay.get": ({ elements }, { id }) => asMutable(elements.overlay(id)),
  "overlay.replace": ({ elements }, { id, spans }) => noResult(elements.replaceSpans("overlay", id, spans)),
  "overlay.patch": ({ elements }, { id, ...patch }) => noResult(elements.patchOverlay(id, patch)),
  "overlay.spans": ({ elements }, { id, spans }) => noResult(elements.updateSpans("overlay", id, spans)),
  "overlay.write": ({ elements }, { id, writes }) => noResult(elements.write("overlay", id, writes)),
  "overlay.delete": ({ elements }, { id }) => noResult(elements.delete("overlay", id)),
  "overlay.clear": ({ elements }) => noResult(elements.clear("overlay")),
  "panel.create": async (session, input, { caller }) => {
    session.requireRunning();
    const { id } = session.elements.createPanel(input);
    session.makers.record("panel", id, agentName(caller));
    await session.layOutPanes();
    const { ptyRows: rows, ptyCols: cols } = session.layout;
    return { id, visible: session.elements.panel(id).visible, rows, cols };
  },
  "panel.list": ({ elements }) => asMutable(elements.panels()),
  "panel.get": ({ elements }, { id }) => asMutable(elements.panel(id)),
  "panel.replace": ({ elements }, { id, ...place }) => noResult(elements.replacePanel(id, place)),
  "panel.patch": ({ elements }, { id, ...patch }) => noResult(elements.patchPanel(id, patch)),
  "panel.spans": ({ elements }, { id, spans }) => noResult(elements.updateSpans("panel", id, spans)),
  "panel.write": ({ elements }, { id, writes }) => noResult(elements.write("panel", id, writes)),
  "panel.delete": ({ elements }, { id }) => noResult(elements.delete("panel", id)),
  "panel.clear": ({ elements }) => noResult(elements.clear("panel")),
  "element.batch": ({ elements }, { id, type, ...change }) => noResult(elements.batch(type, id, change)),
  "input.mode": (session) => inputMode(session),
  "input.capture": (session, { lease_ms }, { caller }) => {
    session.requireRunning();
    // The person's keys, perhaps a password, are for the program: no renewal takes them.
    if (session.questions.handedOver !== null)
      throw new WshError("input_captured", "a person has taken the program over and works there", {
        hint: "Wait for the answer of the question that hands it over.",
      });
    session.keyboard.capture(keyboardOwner(caller), lease_ms);
    return { ...inputMode(session), seq: session.keyboard.cursor(caller.id) };
  },
  "input.release": (session) => {
    session.keyboard.release();
    session.elements.unfocus();
    return {};
  },
  "input.keys": async (session, { since, wait_ms }, { caller, signal }) => {
    const read = await session.keyboard.readNext(since, wait_ms, { id: caller.id, signal });
    return { ...asMutable(read), mode: session.keyboard.mode };
  },
  "focus.get": ({ elements }) => ({ focused: elements.focused }),
  "focus.set": ({ elements }, { id }) => noResult(elements.focus(id)),
  "focus.unset": ({ elements }) => noResult(elements.unfocus()),
  "screen_mode.get": ({ elements }) => ({ mode: elements.screenMode }),
  "screen_mode.enter_alt": ({ elements }) => {
    elements.enterAlt();
    return { mode: elements.screenMode };
  },
  "screen_mode.exit_alt": ({ elements }) => {
    elements.exitAlt();
    return { mode: elements.screenMode };
  },
};

/** The answer to changes that return nothing. */
function noResult(_nothing: unknown): Record<string, never> {
  return {};
}

function keyboardOwner(caller: Caller): KeyboardOwner {
  const maker = agentName(caller);
  return { id: caller.id, label: callerLabel(caller), connected: caller.connected, ...defined({ agent: maker }) };
}

/** The AI agent's name as an owner. */
function agentName(caller: Caller): string | undefined {
  return agentOfCaller(caller) === null ? undefined : ownerOf(caller).name;
}

function inputMode({ keyboard }: Session): OperationOutput<"input.mode"> {
  const { owner } = keyboard;
  const remaining = keyboard.leaseLeft();
  return {
    mode: keyboard.mode,
    ...(owner === null ? {} : { owner: owner.label }),
    ...present({ lease_ms: remaining }),
  };
}

type Mutable<T> = T extends readonly (infer E)[]
  ? Mutable<E>[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T;

/** The domain's values are read-only, the schemas' types are not; JSON makes no difference. */
function asMutable<T>(value: T): Mutable<T> {
  return value as Mutable<T>;
}
