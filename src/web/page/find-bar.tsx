/** Searches a pane's whole history: n of m, from match to match, shown in place. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Finder } from "../terminal/finder.ts";
import { IconButton } from "./icon-button.tsx";
import type { Tile } from "./tile.ts";

/** Pause after a key before the search begins, in ms. */
const PAUSE_MS = 120;

export function FindBar({ tile }: { readonly tile: Tile }) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isPattern, setPattern] = useState(false);
  const [position, setPosition] = useState<{ readonly at: number; readonly total: number } | null>(null);
  const [error, setError] = useState("");
  const finder = useRef<Finder | null>(null);
  // Further keys go to the search field, as in a dialog.
  useLayoutEffect(() => {
    input.current?.focus();
    return () => finder.current?.clear();
  }, []);
  useEffect(() => {
    const pane = tile.terminal.activePane;
    finder.current?.clear();
    setError("");
    setPosition(null);
    if (pane === undefined || text === "") return;
    const own = new Finder(pane, { text, isPattern });
    finder.current = own;
    const timer = setTimeout(() => void step(-1), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, isPattern, tile]);
  const step = async (by: 1 | -1): Promise<void> => {
    const own = finder.current;
    if (own === null) return;
    try {
      await own.step(by);
      setPosition({ at: own.index, total: own.total });
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  const close = (): void => {
    tile.isFindOpen.value = false;
    tile.terminal.input.focus();
  };
  return (
    <search class="find">
      <input
        ref={input}
        type="text"
        placeholder="Find in history and screen"
        aria-label="Find in history and screen"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
          else if (event.key === "Enter") void step(event.shiftKey ? 1 : -1);
          else if (event.key === "ArrowUp") void step(-1);
          else if (event.key === "ArrowDown") void step(1);
          else return;
          event.preventDefault();
        }}
      />
      <span class="count" role="status">
        {error !== ""
          ? error
          : position === null
            ? ""
            : position.total === 0
              ? "none"
              : `${position.at + 1} of ${position.total}`}
      </span>
      <label title="A pattern in RE2 syntax">
        <input
          type="checkbox"
          checked={isPattern}
          onChange={({ currentTarget }) => setPattern(currentTarget.checked)}
        />{" "}
        pattern
      </label>
      <IconButton glyph="↑" title="Previous match (Enter)" label="Previous match" onClick={() => void step(-1)} />
      <IconButton glyph="↓" title="Next match (Shift+Enter)" label="Next match" onClick={() => void step(1)} />
      <IconButton glyph="×" label="Close find" onClick={close} />
    </search>
  );
}
