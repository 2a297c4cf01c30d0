/** Texts that calls type as a whole: a line at a prompt, a prompt of an AI agent. Checked before anything is typed. */
import { WshError } from "./errors.ts";

/** Longest line, in UTF-16 units: an editor redraws it without a noticeable delay. */
const MAX_LINE = 16 * 1024;
/** First characters that make a text a command of an agent, or of a shell. */
const COMMAND_START = /^\s*[/!#]/;
const CONTROL_CHARACTERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

/** The line in the form typed at a prompt. @throws WshError invalid_request */
export function cleanLine(text: string): string {
  const line = text.replace(/\s+$/, "");
  if (line === "") throw new WshError("invalid_request", "'text' is empty");
  if (line.length > MAX_LINE) {
    throw new WshError("invalid_request", `'text' has ${line.length} characters; the limit is ${MAX_LINE}`);
  }
  if (CONTROL_CHARACTERS.test(line)) {
    throw new WshError("invalid_request", "'text' contains control characters, which are keys at a prompt");
  }
  return line;
}

/** The prompt in the form typed into an agent. @throws WshError invalid_request */
export function promptText({ text, command }: { readonly text: string; readonly command: boolean }): string {
  const plain = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "");
  if (plain.trim() === "") throw new WshError("invalid_request", "'text' is blank");
  if (CONTROL_CHARACTERS.test(plain))
    throw new WshError("invalid_request", "'text' has control characters", {
      hint: "Remove them; send keys with {input}.",
    });
  if (!command && COMMAND_START.test(plain)) {
    throw new WshError("invalid_request", `the agent would take '${plain.trim().slice(0, 20)}' as a command`, {
      hint: "Begin with a word, or set 'command' to have it carried out.",
    });
  }
  return plain;
}
