/** Variable of a program that a person's key runs: what it makes gets the focus, as what a key makes. */
export const BY_KEY = "WSH_BY_KEY";
