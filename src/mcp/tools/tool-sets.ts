/**
 * The tools served to a caller. `machines`: includes those on other machines, which `all` has only if there are some.
 */
export const toolSets = ["core", "all", "machines"] as const;
export type ToolSet = (typeof toolSets)[number];
