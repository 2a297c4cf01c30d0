/** The selected part of a screen, as htop and whiptail draw it. */
import { expect, test } from "bun:test";
import { selectedPart } from "../../../src/protocol/screen-selection.ts";

const hidden = { row: 11, visible: false };
const on = (indexed: number, text: string) => ({ text, bg: { indexed } });
const plain = (text: string) => ({ text });
/** A list of processes below its tabs and heading, above its keys. */
const processes = [
  [plain("  "), on(2, "[Main]"), plain(" "), on(4, "[I/O]")],
  [on(2, "  PID USER "), on(6, " CPU%"), on(2, " COMMAND      ")],
  [on(6, "   11 root  0.3  htop          ")],
  ...["12", "13", "14", "15", "16"].map((pid) => [plain(`   ${pid} root  0.0  sh            `)]),
  [plain("F1"), on(6, "Help  "), plain("F9"), on(6, "Kill  ")],
];
/** Rows of another list to the left of it. */
const signals = ["Send:    ", "1 HUP    ", "2 INT    ", "9 KILL   ", "15 TERM  ", "18 CONT  "];
const menu = processes.map((row, at) => {
  const [text = ""] = signals.slice(at - 1, at);
  if (at < 1 || text === "") return row;
  return [at === 1 ? on(2, text) : at === 5 ? on(6, text) : plain(text), plain(" "), ...row];
});

/** The same with one process, whose heading and tabs have more text than the list. */
const short = [
  [plain("  "), on(2, "[Main]"), plain(" "), on(4, "[I/O]")],
  [on(2, "Send signal:   "), plain(" "), on(2, "  PID USER      COMMAND")],
  ...["1 HUP", "2 INT"].map((text) => [plain(text)]),
  [on(6, "15 TERM        ")],
  [plain("18 CONT")],
];

/** A list with one row. */
const lone = [
  [plain("Tasks: 20 ".repeat(9))],
  ...short.slice(0, 1),
  processes[1] ?? [],
  processes[2] ?? [],
  [],
  [plain("F1"), on(6, "Help  ")],
];

test.each([
  ["a list's only row, not a tab", lone, "11 root  0.3  htop"],
  ["a menu's item between two others, not a tab above a heading", short, "15 TERM"],
  ["a list's row, not a tab", processes, "11 root  0.3  htop"],
  ["the item of a menu beside a list", menu, "15 TERM"],
  [
    "a check list's item with its label",
    [
      [on(7, "│  "), on(4, "["), on(1, " "), on(4, "] a  Alpha"), on(7, "   │")],
      [on(7, "│  "), on(4, "[*] b  Beta"), on(7, "   │")],
      [on(7, "│    <Ok>   <Cancel>   │")],
    ],
    "[ ] a  Alpha",
  ],
  [
    "a dialog's button",
    [[on(7, "│   [*] b  Beta   │")], [on(7, "│   "), on(1, "<Ok>"), on(7, "  <Cancel>   │")]],
    "<Ok>",
  ],
])("%s", (_, rows, text) => {
  expect(selectedPart(rows, hidden)?.text).toBe(text);
});
