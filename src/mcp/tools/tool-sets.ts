/** Which tools a caller is served. `machines`: all, and those on other machines, which `all` has only where there are some. */
export const toolSets = ["core", "all", "machines"] as const;
export type ToolSet = (typeof toolSets)[number];
