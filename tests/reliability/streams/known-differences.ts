/** Differences between wsh's and tmux's display of a recorded program, with the reason. Nothing else may differ. */

export interface Explained {
  /** Lines of the comparison that it explains. */
  readonly pattern: RegExp;
  readonly reason: string;
}

export const explained: Readonly<Record<string, readonly Explained[]>> = {
  attributes: [
    {
      pattern: /row 0 col (28|29|30|31): .*,256\], tmux .*,16\]$/,
      reason: "capture-pane of tmux 3.3 prints SGR 53 (overline) as 5:3, which reads as blinking",
    },
  ],
  emoji: [
    {
      pattern: /row 6 col \d: /,
      reason:
        "consonants and spacing marks of Devanagari take a cell each, as wcwidth says; capture-pane prints text, read as one",
    },
  ],
};
