/**
 * Routes a person's keys and clicks at one attached terminal: to their own dialog, to a question, to copy mode, or to
 * the program. Input after a key waits for the key's operation. Runs once per read.
 */
import type { Acting } from "../../protocol/caller.ts";
import { focusReport, readFocusReport } from "../../protocol/focus-report.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import { type DisplayedContent, isInaccessible } from "./displayed-content.ts";
import type { Presentation } from "./presentation.ts";
import type { TerminalControls } from "./terminal-controls.ts";
import type { TerminalFocus } from "./terminal-focus.ts";

interface InputRouterViewer {
  readonly id: number;
  readonly readOnly: boolean;
  readonly acting: Acting;
  readonly size: Size;
  readonly isOver: boolean;
}

export class InputRouter {
  /** For a view: whether an AI agent types in the session that shows it. */
  isTypedByAgent = false;

  constructor(
    private readonly session: Session,
    private readonly content: DisplayedContent,
    private readonly viewer: InputRouterViewer,
    private readonly parts: {
      readonly controls: TerminalControls;
      readonly focus: TerminalFocus;
      readonly presentation: Presentation;
    },
  ) {}

  handleInput(bytes: Uint8Array): void {
    const { session, viewer } = this;
    const { controls, focus, presentation } = this.parts;
    const hasFocus = readFocusReport(bytes);
    if (hasFocus !== null) {
      this.reportFocus(hasFocus);
      return;
    }
    focus.keyTyped();
    if (viewer.isOver || controls.queueInput(bytes)) return;
    const { questions } = session;
    // During a hand-over no dialog is open: a dialog of this terminal and copy mode, which cover the program, take keys.
    const isForSession = (questions.isShown && questions.handedOver === null) || !controls.takesInput;
    if (!viewer.readOnly) {
      if (isForSession && session.viewers.noteAct(viewer.id)) void session.resize();
      // Only a person may answer a question.
      if (questions.isShown && viewer.acting.caller.agent !== undefined) return;
      // A person who types in a dialog of their own is typing, too: no question opens meanwhile.
      if (questions.type(viewer.id, bytes, viewer.size)) return;
    } else if (isForSession) return;
    if (controls.handleDialogInput(bytes)) return;
    const { mode, renderer } = presentation;
    this.sendTranslated(mode === "render" ? controls.pointer.translate(bytes, renderer.offset, this.isOfAgent) : bytes);
  }

  /** Input whose mouse reports are in the cells of their target. */
  sendTranslated(bytes: Uint8Array): void {
    const { viewer, content } = this;
    const { controls, presentation } = this.parts;
    if (bytes.length === 0 || viewer.isOver) return;
    if (controls.isInCopyMode) {
      controls.handleCopyModeInput(bytes);
      return;
    }
    if (viewer.readOnly) return;
    if (isInaccessible({ by: viewer.acting, content })) {
      controls.say("this pane belongs to another session, and the token covers one session");
      return;
    }
    presentation.keyTyped();
    this.sendToProgram(bytes);
  }

  /** For a view: whether a person in the session that shows it has it on the screen. */
  setWatched(on: boolean): void {
    this.parts.focus.isWatched = on && this.viewer.acting.caller.agent === undefined;
    this.session.viewers.noteWatchedChange();
  }

  /** The terminal itself reports gaining or losing the focus: programs that requested it are notified. */
  reportFocus(on: boolean): void {
    const { viewer, content } = this;
    if (viewer.isOver) return;
    this.parts.focus.focusChanged(on);
    const isNotified = content.modes.focus && !viewer.readOnly && !isInaccessible({ by: viewer.acting, content });
    if (isNotified) this.sendToProgram(focusReport(on));
  }

  /** Whether what is typed here is an AI agent's. */
  private get isOfAgent(): boolean {
    return this.isTypedByAgent || this.viewer.acting.caller.agent !== undefined;
  }

  private sendToProgram(bytes: Uint8Array): void {
    this.session.typed(this.viewer.id, bytes, this.content.input, undefined, this.isOfAgent);
  }
}
