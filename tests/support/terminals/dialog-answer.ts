/** A person who answers the question of a dialog by the number of an answer. */
import type { EmulatorTerminal } from "./emulator-terminal.ts";

const READY = "Enter answers";

export const isDialogOpen = (text: string): boolean => text.includes(READY);

/** Waits for the question, and answers it. @returns the screen with the question */
export async function answerDialog(
  terminal: EmulatorTerminal,
  about: string | RegExp,
  number: string,
): Promise<string> {
  const isAbout = (text: string): boolean => (typeof about === "string" ? text.includes(about) : about.test(text));
  const shown = await terminal.sees((text) => isAbout(text) && isDialogOpen(text));
  terminal.type(number);
  await terminal.sees(new RegExp(`${number} >`));
  terminal.type("\r");
  return shown;
}

/** A terminal at which every question is answered so, and has disappeared before the next. */
export function answering(terminal: EmulatorTerminal) {
  return {
    terminal,
    async answer(number: string, about: string | RegExp): Promise<string> {
      const shown = await answerDialog(terminal, about, number);
      await terminal.sees((text) => !isDialogOpen(text));
      return shown;
    },
    [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose](),
  };
}
