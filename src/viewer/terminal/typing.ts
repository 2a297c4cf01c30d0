/**
 * Routes a person's keys and clicks at one attached terminal: to their own dialog, to a question, to copy mode, or to
 * the program. Input after a key waits for the key's operation. Runs once per read.
 */
import type { Acting } from "../../protocol/caller.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import { isOthers, type Shown } from "./displayed-content.ts";
import type { OwnView } from "./own-view.ts";
import type { Presentation } from "./presentation.ts";
import type { TerminalFocus } from "./terminal-focus.ts";

const FOCUS_IN = new TextEncoder().encode("\x1b[I");
const FOCUS_OUT = new TextEncoder().encode("\x1b[O");

interface TypingPort {
  readonly id: number;
  readonly readOnly: boolean;
  readonly by: Acting;
  readonly size: Size;
  readonly isOver: boolean;
}

export class Typing {
  /** For a view: whether an AI agent types in the session that shows it. */
  isAgents = false;

  constructor(
    private readonly session: Session,
    private readonly shown: Shown,
    private readonly viewer: TypingPort,
    private readonly parts: {
      readonly ownView: OwnView;
      readonly focus: TerminalFocus;
      readonly presentation: Presentation;
    },
  ) {}

  typed(bytes: Uint8Array): void {
    const { session, viewer } = this;
    const { ownView, focus, presentation } = this.parts;
    focus.typed(bytes);
    if (viewer.isOver || ownView.hold(bytes)) return;
    const { isShown } = session.questions;
    if (!isShown && ownView.take(bytes)) return;
    if (isShown || !ownView.isInCopyMode) {
      if (viewer.readOnly) return;
      if (session.viewers.acted(viewer.id)) void session.resize();
      // Only a person may answer a question.
      if (isShown && viewer.by.caller.agent !== undefined) return;
      if (session.questions.type(viewer.id, bytes, viewer.size)) return;
    }
    this.placed(presentation.mode === "render" ? ownView.pointer.place(bytes, presentation.renderer.offset) : bytes);
  }

  /** Input whose mouse reports are in the cells of their target. */
  placed(bytes: Uint8Array): void {
    const { session, viewer, shown } = this;
    const { ownView, presentation } = this.parts;
    if (bytes.length === 0 || viewer.isOver) return;
    if (ownView.isInCopyMode && !session.questions.isShown) {
      ownView.looks(bytes);
      return;
    }
    if (viewer.readOnly) return;
    if (isOthers({ by: viewer.by, shown })) {
      ownView.say("this pane belongs to another session, and the token covers one session");
      return;
    }
    presentation.typed();
    this.give(bytes);
  }

  /** For a view: whether a person in the session that shows it has it on the screen. */
  watched(on: boolean): void {
    this.parts.focus.isWatched = on && this.viewer.by.caller.agent === undefined;
    this.session.viewers.watchedChanged();
  }

  /** The terminal itself reports gaining or losing the focus: programs that requested it are notified. */
  focused(on: boolean): void {
    const { viewer, shown } = this;
    if (viewer.isOver) return;
    this.parts.focus.focused(on);
    const isTold = shown.modes.focus && !viewer.readOnly && !isOthers({ by: viewer.by, shown });
    if (isTold) this.give(on ? FOCUS_IN : FOCUS_OUT);
  }

  private give(bytes: Uint8Array): void {
    const { id, by } = this.viewer;
    this.session.typed(id, bytes, this.shown.typed, undefined, this.isAgents || by.caller.agent !== undefined);
  }
}
