/**
 * One open question as a dialog: its contents, and the effect of a key or click. All terminals share one state, so that
 * each shows text typed at another.
 *
 * Pure. Invariants: a secret is never shown; only Enter, a click, or y and n (for yes or no) answer; only
 * Escape, Ctrl+C or a click dismiss.
 */
import type { DialogContent, DialogLayout } from "../../compositor/dialog.ts";
import { parseMouseReport, WHEEL_DOWN, WHEEL_UP } from "../../keys/mouse.ts";
import type { InputEvent, ParsedKey } from "../../keys/types.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { Question } from "../../protocol/question.ts";
import type { SecretPrompt } from "../../protocol/secret.ts";
import { type EditedLine, editLine, insertText, lineKey, lineOf, pastedText } from "../line-editor.ts";

/** Longest typed answer, in characters: below the limit of a terminal's line (4,096 bytes). */
const MAX_ANSWER = 1_000;
/** Lines that a page key scrolls. */
const PAGE_LINES = 5;

export interface DialogState extends EditedLine {
  readonly focus: number;
  /** Indexes of the chosen items, for several choices. */
  readonly chosen: readonly number[];
  readonly scroll: number;
}

type DialogStep =
  | { readonly type: "changed"; readonly state: DialogState }
  | { readonly type: "answered"; readonly answer: Answer }
  | { readonly type: "secret"; readonly typed: string }
  | { readonly type: "taken_over" }
  | { readonly type: "dismissed" }
  | { readonly type: "nothing" };

const noStep: DialogStep = { type: "nothing" };
const dismissedStep: DialogStep = { type: "dismissed" };

/** The state of a dialog before the first key. */
export function dialogState(question: Question): DialogState {
  const base = { focus: 0, chosen: [], typed: [], caret: 0, scroll: 0 };
  if (question.kind === "choice") {
    const chosen = question.chosen.map((choice) => question.choices.indexOf(choice));
    return { ...base, focus: chosen[0] ?? 0, chosen: question.multiple ? chosen : [] };
  }
  if (question.kind === "text") {
    return { ...base, ...lineOf(question.prepared) };
  }
  return question.kind === "confirm" ? { ...base, focus: question.prepared ? 0 : 1 } : base;
}

interface DialogFrame {
  readonly title: string;
  /**
   * Whether keys answer: only after a pause since the dialog appeared, since earlier ones were meant for the program
   * below.
   */
  readonly acceptsKeys: boolean;
  readonly secret: SecretPrompt | null;
}

export function dialogContent(
  question: Question,
  state: DialogState,
  { title, acceptsKeys, secret }: DialogFrame,
): DialogContent {
  const text = question.detail === "" ? question.question : `${question.question}\n\n${question.detail}`;
  const hint = (words: string): string => (acceptsKeys ? words : "…");
  const content: DialogContent = {
    title,
    body: text,
    facts: [],
    items: [],
    focus: state.focus,
    input: null,
    scroll: state.scroll,
    buttons: ["OK", "Dismiss"],
    hint: hint("Enter answers · Esc dismisses"),
  };
  switch (question.kind) {
    case "choice":
      return {
        ...content,
        items: question.choices.map((choice, index) => ({
          mark: checkMark(question.multiple, state, index),
          text: choice,
        })),
        buttons: question.multiple ? content.buttons : ["Dismiss"],
        hint: hint(
          question.multiple ? "Space chooses · Enter answers · Esc dismisses" : "↑ ↓ · Enter answers · Esc dismisses",
        ),
      };
    case "confirm":
      return { ...content, buttons: ["Yes", "No"], hint: hint("y · n · Enter answers · Esc dismisses") };
    case "hand_over":
      return {
        ...content,
        facts: ["You take over the program, then hand it back."],
        buttons: ["Take over", "Dismiss"],
        hint: hint("Enter takes over · Esc dismisses"),
      };
    case "text":
      return { ...content, focus: -1, input: splitAtCaret(state, state.typed) };
    case "secret":
      return {
        ...content,
        focus: -1,
        facts: secret === null ? [] : [`Only for ${readerText(secret)}:`, `  ${secret.commandLine}`],
        input: splitAtCaret(
          state,
          state.typed.map(() => "•"),
        ),
        hint: hint("Enter types it there · Esc dismisses"),
      };
  }
}

function readerText({ program, pid, pane }: SecretPrompt): string {
  const place = pane === undefined ? "" : `, in pane ${pane}`;
  return `${program}, pid ${pid ?? "unknown"}${place}`;
}

function checkMark(multiple: boolean, { chosen, focus }: DialogState, index: number): string {
  const number = index < 9 ? `${index + 1} ` : "  ";
  if (multiple) return `${number}[${chosen.includes(index) ? "x" : " "}] `;
  return `${number}${index === focus ? ">" : " "} `;
}

function splitAtCaret({ caret }: DialogState, shown: readonly string[]): { before: string; after: string } {
  return { before: shown.slice(0, caret).join(""), after: shown.slice(caret).join("") };
}

/** The effect of an event. @param layout the dialog's layout at the terminal of the event */
export function handleEvent(
  question: Question,
  state: DialogState,
  event: InputEvent,
  layout: DialogLayout,
): DialogStep {
  if (event.kind === "mouse") return click(question, state, event.raw, layout);
  if (event.kind === "paste")
    return takesText(question) ? stepOf(insertText(state, pastedText(event), MAX_ANSWER)) : noStep;
  if (event.kind !== "key" || event.parsed === null) return noStep;
  if (dismisses(event.parsed)) return dismissedStep;
  const { key, modifiers } = event.parsed;
  const ctrl = modifiers.includes("ctrl");
  if (key === "PageUp") return scroll(state, layout, -PAGE_LINES);
  if (key === "PageDown") return scroll(state, layout, PAGE_LINES);
  if (takesText(question)) return edit(question, state, event.parsed);
  if (ctrl || modifiers.includes("alt")) return noStep;
  if (key === "Enter") return submit(question, state);
  if (question.kind === "choice") return chooseByKey(question, state, key);
  if (question.kind === "confirm" && (key === "y" || key === "Y")) return { type: "answered", answer: true };
  if (question.kind === "confirm" && (key === "n" || key === "N")) return { type: "answered", answer: false };
  if (["ArrowLeft", "ArrowRight", "Tab"].includes(key)) return withChange(state, { focus: 1 - state.focus });
  return noStep;
}

function dismisses({ key, modifiers }: ParsedKey): boolean {
  return (key === "Escape" && modifiers.length === 0) || (key === "c" && modifiers.includes("ctrl"));
}

/** Whether an event continues typing. A dismissing key does not: holding it must close the dialog. */
export function continuesTyping({ kind, parsed }: InputEvent): boolean {
  return kind === "paste" || (kind === "key" && (parsed === null || !dismisses(parsed)));
}

function takesText({ kind }: Question): boolean {
  return kind === "text" || kind === "secret";
}

function withChange(state: DialogState, change: Partial<DialogState>): DialogStep {
  return { type: "changed", state: { ...state, ...change } };
}

function scroll(state: DialogState, { maxScroll }: DialogLayout, by: number): DialogStep {
  return withChange(state, { scroll: Math.max(0, Math.min(maxScroll, state.scroll + by)) });
}

function submit(question: Question, state: DialogState): DialogStep {
  switch (question.kind) {
    case "choice": {
      const answer = question.choices.filter((_, index) => state.chosen.includes(index));
      if (question.multiple) return { type: "answered", answer };
      const choice = question.choices[state.focus];
      return choice === undefined ? noStep : { type: "answered", answer: choice };
    }
    case "text":
      return { type: "answered", answer: state.typed.join("") };
    case "secret":
      return { type: "secret", typed: state.typed.join("") };
    case "confirm":
      return { type: "answered", answer: state.focus === 0 };
    case "hand_over":
      return state.focus === 0 ? { type: "taken_over" } : dismissedStep;
  }
}

function chooseByKey(question: Extract<Question, { kind: "choice" }>, state: DialogState, key: string): DialogStep {
  const { length } = question.choices;
  const to = (index: number): DialogStep => withChange(state, { focus: Math.max(0, Math.min(length - 1, index)) });
  if (key === "ArrowUp" || key === "k") return to(state.focus - 1);
  if (key === "ArrowDown" || key === "j" || key === "Tab") return to(state.focus + 1);
  if (key === "Home") return to(0);
  if (key === "End") return to(length - 1);
  if (question.multiple && key === " ") return toggle(state, state.focus);
  const number = /^[1-9]$/.test(key) ? Number(key) - 1 : length;
  if (number >= length) return noStep;
  return question.multiple ? toggle(state, number) : to(number);
}

function toggle(state: DialogState, index: number): DialogStep {
  const { chosen: before } = state;
  const chosen = before.includes(index) ? before.filter((each) => each !== index) : [...before, index];
  return withChange(state, { chosen, focus: index });
}

function edit(question: Question, state: DialogState, key: ParsedKey): DialogStep {
  const named = lineKey(key);
  if (named === "Enter") return submit(question, state);
  return stepOf(editLine(state, named, MAX_ANSWER));
}

function stepOf(state: DialogState | null): DialogStep {
  return state === null ? noStep : { type: "changed", state };
}

function click(question: Question, state: DialogState, raw: Uint8Array, layout: DialogLayout): DialogStep {
  const report = parseMouseReport(raw);
  if (report === null || report.release) return noStep;
  if (report.button === WHEEL_UP) return scroll(state, layout, -1);
  if (report.button === WHEEL_DOWN) return scroll(state, layout, 1);
  if (report.button !== 0) return noStep;
  const [row, col] = [report.row - 1, report.col - 1];
  const hit = layout.targets.find((each) => each.row === row && col >= each.col && col < each.col + each.width);
  if (hit === undefined) return noStep;
  if (hit.part === "item") {
    if (question.kind !== "choice") return noStep;
    return question.multiple ? toggle(state, hit.index) : submit(question, { ...state, focus: hit.index });
  }
  if (question.kind === "confirm" || question.kind === "hand_over")
    return submit(question, { ...state, focus: hit.index });
  const isDismiss = hit.index === 1 || (question.kind === "choice" && !question.multiple);
  return isDismiss ? dismissedStep : submit(question, state);
}
