/** Keys of a browser that are keys of a terminal, and those that type a character by themselves. */
import { expect, test } from "bun:test";
import { initialFrameModes } from "../../../src/protocol/frame.ts";
import { type KeyPress, keyNameOf } from "../../../src/web/terminal/keyboard.ts";

const unpressed: KeyPress = {
  ...{ key: "", code: "", ctrlKey: false, altKey: false, shiftKey: false, metaKey: false },
  ...{ altGraph: false, option: false, composing: false },
};
const nameOf = (pressed: Partial<KeyPress>): string | null =>
  keyNameOf({ ...unpressed, ...pressed }, initialFrameModes);

test("AltGr's characters are unchanged, however a browser reports its modifiers", () => {
  const held = { ctrlKey: true, altKey: true };
  for (const [key, code] of [
    ["@", "KeyQ"],
    ["€", "KeyE"],
    ["{", "Digit7"],
    ["\\", "Minus"],
    ["~", "BracketRight"],
  ] as const) {
    expect(nameOf({ key, code })).toBeNull();
    expect(nameOf({ key, code, altGraph: true })).toBeNull();
    expect(nameOf({ key, code, ...held, altGraph: true })).toBeNull();
    // Here browsers type nothing.
    expect(nameOf({ key, code, ...held })).toBe(key);
  }
});

test("Ctrl and Alt with the key's own character are that key", () => {
  const held = { ctrlKey: true, altKey: true };
  expect(nameOf({ key: "q", code: "KeyQ", ...held })).toBe("Ctrl+Alt+q");
  expect(nameOf({ key: "a", code: "KeyQ", ...held })).toBe("Ctrl+Alt+a");
  expect(nameOf({ key: "7", code: "Digit7", ...held })).toBe("Ctrl+Alt+7");
  expect(nameOf({ key: "[", code: "BracketLeft", ...held })).toBe("Ctrl+Alt+[");
  expect(nameOf({ key: "ArrowUp", code: "ArrowUp", ...held })).toBe("Ctrl+Alt+Up");
});

test("a Mac's Option types characters, and is Alt for every other key", () => {
  expect(nameOf({ key: "@", code: "KeyL", altKey: true, option: true })).toBeNull();
  expect(nameOf({ key: "ArrowLeft", code: "ArrowLeft", altKey: true, option: true })).toBe("Alt+Left");
  expect(nameOf({ key: "x", code: "KeyX", altKey: true })).toBe("Alt+x");
});

test("paste, zoom and developer tools are the browser's; Ctrl+Shift with a letter is the program's if it distinguishes it", () => {
  const ctrlShift = { ctrlKey: true, shiftKey: true };
  expect(nameOf({ key: "V", code: "KeyV", ...ctrlShift })).toBeNull();
  expect(nameOf({ key: "Insert", code: "Insert", shiftKey: true })).toBeNull();
  for (const key of ["+", "-", "=", "0"]) expect(nameOf({ key, code: "", ctrlKey: true })).toBeNull();
  expect(nameOf({ key: "_", code: "Minus", ...ctrlShift })).toBe("Ctrl+_");
  expect(nameOf({ key: "v", code: "KeyV", ctrlKey: true })).toBe("Ctrl+v");
  const kitty = { ...initialFrameModes, kittyFlags: 1 };
  for (const key of ["I", "J", "V"]) {
    expect(keyNameOf({ ...unpressed, key, code: `Key${key}`, ...ctrlShift }, kitty)).toBeNull();
  }
  const bookmarks = { key: "B", code: "KeyB", ...ctrlShift };
  expect(nameOf(bookmarks)).toBeNull();
  expect(keyNameOf({ ...unpressed, ...bookmarks }, kitty)).toBe("Ctrl+B");
});
