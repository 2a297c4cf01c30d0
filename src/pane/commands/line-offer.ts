/**
 * Inserts a line at the shell's next prompt without running it, as if the person had typed it. It is pasted, so that no
 * character of it acts as a key; a prompt that already has text is left unchanged.
 */
import { WshError } from "../../protocol/errors.ts";
import { PASTE_BEGIN, PASTE_END } from "../../protocol/pasted-text.ts";
import { cleanLine } from "../../protocol/typed-texts.ts";
import type { InputHold } from "../input-gate.ts";
import { type LinePort, PromptLine } from "./prompt-line.ts";

export interface LineOfferPort extends LinePort {
  /** Types past the held input. */
  send(bytes: Uint8Array, hold: InputHold): Promise<void>;
}

export interface LineOffer {
  readonly text: string;
  /** Longest wait for the command that runs now, in ms. */
  readonly maxWaitMs: number;
}

/**
 * @throws WshError invalid_request, not_at_prompt (the command still runs), prompt_not_empty, no_shell_integration,
 *   session_ended, input_send_failed
 */
export async function offerLine(port: LineOfferPort, { text, maxWaitMs }: LineOffer): Promise<void> {
  const line = cleanLine(text);
  const prompt = new PromptLine(port);
  const deadline = port.clock.now() + maxWaitMs;
  while (port.log.phase === "running" && (await prompt.awaitPrompt(deadline, undefined)));
  const { hold, before, oneLine } = await prompt.holdEmptyLine(
    { clearLine: false },
    Math.max(deadline, port.clock.now()),
  );
  try {
    const { bracketedPaste } = port.target;
    if (line.includes("\n") && (oneLine || !bracketedPaste)) {
      throw new WshError("invalid_request", "the shell at the prompt accepts only one line, but the text has several");
    }
    if (line.includes("\t") && !bracketedPaste) {
      throw new WshError(
        "invalid_request",
        "the shell at the prompt does not accept pastes, and 'text' contains a tab, which is a key there",
      );
    }
    const typed = bracketedPaste ? `${PASTE_BEGIN}${line}${PASTE_END}` : line;
    await port.send(new TextEncoder().encode(before + typed), hold);
  } finally {
    hold[Symbol.dispose]();
  }
}
