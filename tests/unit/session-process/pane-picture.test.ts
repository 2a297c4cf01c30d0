/** When a pane's picture is renewed in a window of several panes. */
import { expect, test } from "bun:test";
import { PanePicture } from "../../../src/session-process/panes/pane-picture.ts";
import type { TerminalModel } from "../../../src/terminal/model.ts";

/** A pane of which each composed picture is titled with its number. */
function pane() {
  const terminal = { epoch: 0, intake: { isAtRest: true }, modes: { synchronizedOutput: false } };
  const size = { rows: 2, cols: 10 };
  const renewable = Promise.withResolvers<void>();
  let composed = 0;
  const picture = new PanePicture({
    size,
    terminal: terminal as unknown as TerminalModel,
    isTypingElsewhere: () => false,
    compose: () => ({ ...size, title: String(++composed) }) as NonNullable<PanePicture["frame"]>,
    rendered: () => renewable.resolve(),
  });
  const prints = (isSynchronized: boolean) => {
    terminal.epoch++;
    terminal.modes.synchronizedOutput = isSynchronized;
  };
  return { picture, size, prints, renewable: renewable.promise, shown: () => picture.frame?.title };
}

test("no part of a synchronized update is shown until its end", () => {
  const { prints, shown } = pane();
  expect(shown()).toBe("1");
  prints(true);
  expect(shown()).toBe("1");
  prints(true);
  expect(shown()).toBe("1");
  prints(false);
  expect(shown()).toBe("2");
});

test("an update that does not end is shown after a while, and its pane is drawn again then", async () => {
  const { prints, shown, renewable } = pane();
  shown();
  prints(true);
  expect(shown()).toBe("1");
  await renewable;
  expect(shown()).toBe("2");
});

test("a new size and what is drawn above the program do not wait for the update's end", () => {
  const { picture, size, prints, shown } = pane();
  shown();
  prints(true);
  picture.overlaysChanged();
  expect(shown()).toBe("2");
  prints(true);
  expect(shown()).toBe("2");
  size.rows = 3;
  expect(shown()).toBe("3");
});
