/** Operations of keys: what they type, and the input that waits for them, in order. */
import { expect, test } from "bun:test";
import type { Acting } from "../../../src/protocol/caller.ts";
import { BoundKeys } from "../../../src/viewer/terminal/bound-keys.ts";
import { OverlayLayer } from "../../../src/viewer/terminal/overlay-layer.ts";
import { ViewOperations } from "../../../src/viewer/terminal/view-operations.ts";

type Given = ConstructorParameters<typeof ViewOperations>;

/** A terminal at which prefix c takes until `opened` is called, and prefix ] pastes. */
function scene({ copyMode = false, isAsked = false, isHandedOver = false, bracketedPaste = false } = {}) {
  const typed: string[] = [];
  const window = Promise.withResolvers<void>();
  const copyModeState = { isOn: copyMode } as unknown as ConstructorParameters<typeof OverlayLayer>[0]["copyMode"];
  const overlayLayer = new OverlayLayer({
    person: { prefix: "", tables: {} as never },
    copyMode: copyModeState,
    mouse: { isAllowed: true },
    changed: () => {},
  });
  const questions = { isShown: isAsked || isHandedOver, handedOver: isHandedOver ? "log in" : null };
  const sendInput = (bytes: Uint8Array): void => void typed.push(Buffer.from(bytes).toString());
  const by: Acting = { caller: { kind: "cli", id: "attach:1", connected: true }, access: "admin" };
  const port = {
    by,
    readOnly: false,
    session: { questions, buffers: { get: () => ({ text: "q\nls" }) } },
    content: { modes: { bracketedPaste } },
    sendInput: (bytes: Uint8Array) => void (keys.queueInput(bytes) || sendInput(bytes)),
  };
  const actions = { type: (bytes: Uint8Array) => keys.typeFromOperation(bytes) };
  const operations = new ViewOperations(port as unknown as Given[0], overlayLayer, actions as unknown as Given[2]);
  const ended = Promise.withResolvers<void>();
  const keys = new BoundKeys({
    isOver: false,
    isBound: () => true,
    perform: async ({ key }) => {
      if (key === "c") await window.promise;
      else await operations.run("view.paste", { input: {} });
      if (key === "]") setImmediate(() => ended.resolve());
    },
    failed: (error) => ended.reject(error),
    sendInput,
  });
  const press = (key: string): void => keys.press({ table: "prefix", key, bytes: [] });
  return { typed, keys, press, opened: window.resolve, ended: ended.promise };
}

test("a paste precedes what was typed after its key, also behind another operation", async () => {
  const { typed, keys, press, opened, ended } = scene();
  press("c");
  press("]");
  keys.queueInput(Buffer.from("\r"));
  opened();
  await ended;
  expect(typed).toEqual(["q\rls", "\r"]);
});

test.each([
  [{}, false],
  [{ bracketedPaste: true }, true],
  [{ copyMode: true }, true],
  [{ isAsked: true }, true],
  [{ isHandedOver: true }, false],
] as const)("what is pasted presses no key of copy mode or a dialog: %j", async (state, isMarked) => {
  const { typed, press, ended } = scene(state);
  press("]");
  await ended;
  expect(typed).toEqual([isMarked ? "\x1b[200~q\rls\x1b[201~" : "q\rls"]);
});
