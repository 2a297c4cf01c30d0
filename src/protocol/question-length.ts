/** Longest question, choice and prepared answer, in characters: it fits on a screen. */
export const MAX_QUESTION = 1_000;
