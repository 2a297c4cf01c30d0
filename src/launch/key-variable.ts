/**
 * Variable of a program that a person's key runs: sessions and panes that the program makes get the focus, like those
 * that a key makes.
 */
export const BY_KEY = "WSH_BY_KEY";
