/** Changes that remain at a terminal after all its modes are reset: palette, mouse pointer, progress bar, tab stops. */
export const lastingChanges = ["colors", "pointer", "progress", "tabs"] as const;
export type LastingChange = (typeof lastingChanges)[number];
