/**
 * The tools served to a caller. `machines` adds the tools for other machines, which `all` contains only if
 * there are some.
 */
export const toolSets = ["core", "all", "machines"] as const;
export type ToolSet = (typeof toolSets)[number];
