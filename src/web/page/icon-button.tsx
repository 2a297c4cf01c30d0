/** A button with one character, and what it does as a tooltip and for screen readers. */
interface Properties {
  readonly glyph: string;
  readonly title?: string;
  /** For screen readers; default: the title. */
  readonly label?: string;
  readonly isTurned?: boolean;
  readonly isDisabled?: boolean;
  /** In a list with one Tab stop: whether it is that one. */
  readonly isStop?: boolean;
  readonly onClick: () => void;
}

export function IconButton({ glyph, title, label = title, isTurned, isDisabled, isStop, onClick }: Properties) {
  return (
    <button
      type="button"
      class={isTurned ? "icon turned" : "icon"}
      title={title}
      aria-label={label}
      aria-disabled={isDisabled}
      tabIndex={isStop === undefined ? undefined : isStop ? 0 : -1}
      onClick={onClick}
    >
      {glyph}
    </button>
  );
}
