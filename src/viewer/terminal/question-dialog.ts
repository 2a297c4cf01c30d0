/**
 * A question to the person at one terminal about a key that they pressed. It looks and behaves like a program's
 * question, but accepts keys at once, since the person expects it.
 */
import { drawDialog, layoutDialog } from "../../compositor/dialog.ts";
import type { InputEvent } from "../../keys/types.ts";
import type { Answer } from "../../protocol/ask-result.ts";
import type { Frame } from "../../protocol/frame.ts";
import type { Question } from "../../protocol/question.ts";
import type { Size } from "../../protocol/size.ts";
import { type DialogState, dialogContent, dialogState, handleEvent } from "../../session/questions/dialog.ts";
import type { TerminalDialog } from "./overlay-layer.ts";

export class QuestionDialog implements TerminalDialog {
  private state: DialogState;

  /** @param onAnswer called once, unless the question is dismissed */
  constructor(
    private readonly question: Question,
    private readonly title: string,
    private readonly onAnswer: (answer: Answer) => void,
  ) {
    this.state = dialogState(question);
  }

  draw(frame: Frame, ascii: boolean): Frame {
    return drawDialog(frame, layoutDialog(this.content, frame), ascii);
  }

  handleEvent(event: InputEvent, size: Size): "open" | "closed" {
    const step = handleEvent(this.question, this.state, event, layoutDialog(this.content, size));
    if (step.type === "answered") this.onAnswer(step.answer);
    if (step.type === "changed") this.state = step.state;
    return step.type === "answered" || step.type === "dismissed" ? "closed" : "open";
  }

  private get content() {
    return dialogContent(this.question, this.state, { title: this.title, acceptsKeys: true, secret: null });
  }
}
