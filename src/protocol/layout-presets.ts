/** Layouts by name, as tmux calls them, in the order of `next`. */
export const layoutPresetNames = [
  "even-horizontal",
  "even-vertical",
  "main-horizontal",
  "main-horizontal-mirrored",
  "main-vertical",
  "main-vertical-mirrored",
  "tiled",
] as const;
