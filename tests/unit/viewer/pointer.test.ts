/** Mouse reports of a person's terminal reach the target under the pointer, in its own cells and encoding. */
import { describe, expect, test } from "bun:test";
import type { CopyModeInput } from "../../../src/protocol/copy-mode.ts";
import { type FrameModes, initialFrameModes } from "../../../src/protocol/frame.ts";
import type { StatusTarget } from "../../../src/session/types.ts";
import { Pointer, type PointerPort } from "../../../src/viewer/terminal/pointer.ts";

interface Scene {
  readonly modes?: Partial<FrameModes>;
  readonly isOn?: boolean;
  readonly isInCopyMode?: boolean;
  readonly top?: number;
  /** For one of several panes: whether a caller has captured the keyboard. */
  readonly isCaptured?: boolean;
}

/** One pane of 20 rows below panels, with a status line in the row after it. */
function scene({ modes = {}, isOn: handlesMouse = false, isInCopyMode = false, top = 2, isCaptured }: Scene = {}) {
  const did: string[] = [];
  const looked = Promise.withResolvers<void>();
  const inside = (row: number, col: number): boolean => row >= 0 && row < 20 && col >= 0 && col < 300;
  const port: PointerPort = {
    targets: {
      active: "@1",
      isInPixels: modes.mouseEncoding === 1016,
      paneAt: (row, col) => (inside(row, col) ? "@1" : null),
      boxOf: () => ({ row: 0, col: 0, rows: 20, cols: 300 }),
      modesOf: () => ({ ...initialFrameModes, ...modes }),
      isInCopyMode: () => isInCopyMode,
      sendTo(pane, bytes) {
        if (isCaptured === undefined) return bytes;
        did.push(`${pane} got ${Buffer.from(bytes).toString("latin1").slice(1)}`);
        return null;
      },
      select: (pane) => void did.push(`select ${pane}`),
      borderAt: () => null,
      drag: () => {},
    },
    ...{
      handlesMouse,
      isInCopyMode,
      top,
      isCaptured: isCaptured === true,
      isInaccessible: () => false,
      copyModeKeys: { keys: "vi" },
    },
    statusAt: (row, col): StatusTarget | null =>
      row === top + 20 ? { kind: "window", index: col, active: false } : null,
    openCopyMode(input: CopyModeInput) {
      did.push(`look ${JSON.stringify({ ...input, keys: undefined })}`);
      return looked.promise;
    },
    useStatusLine: (target, what) => void did.push(`status ${what} ${JSON.stringify(target)}`),
    openMenu: (pane) => void did.push(`offer ${pane}`),
    sendInput: (bytes) => void did.push(`typed ${Buffer.from(bytes).toString("latin1")}`),
  };
  const pointer = new Pointer(port);
  const place = (text: string | Uint8Array, offset = { top: 0, left: 0 }): string => {
    const bytes = typeof text === "string" ? Buffer.from(text, "latin1") : text;
    return Buffer.from(pointer.translate(bytes, offset, false)).toString("latin1");
  };
  return { did, place, looked };
}

const asked = { mouse: 1003, mouseEncoding: 1006 } as const;

describe("a program that requested the mouse", () => {
  test("gets no report while a caller has captured the keyboard, except of copy mode", () => {
    const report = "\x1b[<0;10;5M";
    const free = scene({ modes: asked, isCaptured: false });
    expect([free.place(report), free.did]).toEqual(["", ["@1 got [<0;10;3M"]]);
    const captured = scene({ modes: asked, isCaptured: true });
    expect([captured.place(report), captured.did]).toEqual(["\x1b[<0;10;3M", []]);
    const copying = scene({ modes: asked, isCaptured: true, isInCopyMode: true });
    expect([copying.place(report), copying.did]).toEqual(["", ["@1 got [<0;10;3M"]]);
  });

  test.each([
    [1006, "\x1b[<0;10;5M", "\x1b[<0;10;3M"],
    [1015, "\x1b[32;10;5M", "\x1b[32;10;3M"],
    [0, "\x1b[M *%", "\x1b[M *#"],
  ] as const)("has reports in its own cells, in encoding %i", (mouseEncoding, sent, reached) => {
    expect(scene({ modes: { mouse: 1003, mouseEncoding } }).place(sent)).toBe(reached);
  });

  test("gets UTF-8 coordinates if it requested those, and each encoding from a terminal that speaks SGR", () => {
    const wide = Buffer.from(`\x1b[M ${String.fromCodePoint(32 + 200)}%`);
    const { place } = scene({ modes: { mouse: 1003, mouseEncoding: 1005 } });
    expect(Buffer.from(place(wide), "latin1").toString()).toBe(`\x1b[M ${String.fromCodePoint(32 + 200)}#`);
    const { place: sgr } = scene({ modes: { mouse: 1000, mouseEncoding: 0 }, isOn: true });
    expect(sgr("\x1b[<0;10;5M\x1b[<0;10;5m")).toBe("\x1b[M *#\x1b[M#*#");
  });

  test("gets the release of a press that it got, at its edge; a press beside it is not its", () => {
    const { place } = scene({ modes: asked });
    expect(place("\x1b[<0;10;2M\x1b[<0;10;2m")).toBe("");
    expect(place("\x1b[<64;10;1M")).toBe("");
    expect(place("\x1b[<0;10;3M\x1b[<32;10;30M\x1b[<0;10;1m")).toBe("\x1b[<0;10;1M\x1b[<32;10;20M\x1b[<0;10;1m");
    // The release was elsewhere: the next press counts by its position.
    expect(place("\x1b[<0;10;3M\x1b[<0;10;1M")).toBe("\x1b[<0;10;1M");
  });

  test("gets only the reports that it requested, and nothing else happens", () => {
    const { place, did } = scene({ modes: { mouse: 1000, mouseEncoding: 1006 }, isOn: true });
    expect(place("\x1b[<2;4;4M\x1b[<34;5;4M\x1b[<2;5;4ma\x1b[<64;1;3M")).toBe("\x1b[<2;4;2M\x1b[<2;5;2ma\x1b[<64;1;1M");
    expect(did).toEqual([]);
  });

  test("in a part of a larger screen; reports in pixels pass where nothing is moved", () => {
    expect(scene({ modes: asked }).place("\x1b[<0;10;5M", { top: 7, left: 3 })).toBe("\x1b[<0;13;10M");
    const pixels = { mouse: 1003, mouseEncoding: 1016 } as const;
    expect(scene({ modes: pixels }).place("\x1b[<0;100;50M")).toBe("\x1b[<0;100;50M");
    expect(scene({ modes: pixels, isOn: true }).place("\x1b[<0;100;5M")).toBe("");
  });
});

describe("where the mouse is wsh's", () => {
  test("the wheel enters copy mode, or sends arrow keys; other keys and text pass in order", async () => {
    const { place, did, looked } = scene({ isOn: true });
    expect(place("ab\x1b[<64;5;5Mc\x1b[A")).toBe("abc\x1b[A");
    expect(place("\x1b[<64;5;5M\x1b[<64;5;5M\x1b[<65;5;5M")).toBe("");
    expect(did).toEqual(['look {"wheel":3}']);
    looked.resolve();
    await looked.promise.then(() => {});
    expect(did).toEqual(['look {"wheel":3}', 'look {"wheel":3}']);
    expect(scene({ isOn: true, modes: { alternate: true } }).place("\x1b[<65;5;5M")).toBe("\x1b[B\x1b[B\x1b[B");
    const application = { alternate: true, applicationCursor: true };
    expect(scene({ isOn: true, modes: application }).place("\x1b[<64;5;5M")).toBe("\x1bOA\x1bOA\x1bOA");
    // Down, with nothing below.
    const { place: down, did: nothing } = scene({ isOn: true });
    expect(down("\x1b[<65;5;5M")).toBe("");
    expect(nothing).toEqual([]);
  });

  test("a drag selects from the press, including events until copy mode is displayed", async () => {
    const { place, did, looked } = scene({ isOn: true });
    expect(place("\x1b[<0;5;5M\x1b[<32;6;5M\x1b[<32;9;6M\x1b[<0;12;7m")).toBe("");
    expect(did).toEqual(['look {"press":{"row":2,"col":4,"clicks":1}}']);
    looked.resolve();
    await looked.promise.then(() => {});
    expect(did.slice(1)).toEqual(["typed \x1b[<32;9;4M", "typed \x1b[<0;12;5m"]);
  });

  test("two clicks select a word, one nothing; the right button opens a menu, the status line is clicked", () => {
    const { place, did } = scene({ isOn: true });
    place("\x1b[<0;5;5M\x1b[<0;5;5m");
    expect(did).toEqual([]);
    place("\x1b[<0;5;5M\x1b[<0;5;5m");
    expect(did).toEqual(['look {"press":{"row":2,"col":4,"clicks":2}}']);
    const { place: other, did: done } = scene({ isOn: true });
    other("\x1b[<2;5;5M\x1b[<2;5;5m\x1b[<0;4;23M\x1b[<0;4;23m\x1b[<2;4;23M\x1b[<65;4;23M");
    const window = '{"kind":"window","index":3,"active":false}';
    expect(done).toEqual(["offer @1", `status left ${window}`, `status right ${window}`, `status down ${window}`]);
  });

  test("is not wsh's: nothing of that", () => {
    const { place, did } = scene();
    expect(place("\x1b[<64;5;5M\x1b[<0;5;5M\x1b[<32;6;5M\x1b[<0;6;5m\x1b[<2;5;5M\x1b[<0;4;23M")).toBe("");
    expect(did).toEqual([]);
    expect(scene({ isInCopyMode: true }).place("\x1b[<0;5;5M\x1b[<32;6;5M")).toBe("\x1b[<0;5;3M\x1b[<32;6;3M");
  });
});
