/** Buttons for keys that a phone's keyboard lacks. Ctrl and Alt apply to the next key. */
import { useState } from "preact/hooks";
import type { Workspace } from "./workspace.ts";

const keyButtons: readonly (readonly [label: string, name: string, description: string])[] = [
  ["Esc", "Escape", "Escape"],
  ["Tab", "Tab", "Tab"],
  ["↑", "Up", "Up"],
  ["↓", "Down", "Down"],
  ["←", "Left", "Left"],
  ["→", "Right", "Right"],
  ["|", "|", "Bar"],
  ["/", "/", "Slash"],
  ["-", "-", "Minus"],
  ["~", "~", "Tilde"],
];

export function KeyBar({ workspace }: { readonly workspace: Workspace }) {
  const [, setHeld] = useState({ ctrl: false, alt: false });
  const tile = workspace.active.value;
  if (tile === null || tile.access.value === "observe" || workspace.connection.value.state === "refused") return null;
  const { terminal } = tile;
  // Each terminal has its own: another one may have become active.
  const held = terminal.heldModifiers;
  const toggleModifier = (modifier: "ctrl" | "alt"): void => {
    terminal.heldModifiers = { ...terminal.heldModifiers, [modifier]: !terminal.heldModifiers[modifier] };
    setHeld({ ...terminal.heldModifiers });
    // The next key, from any source, releases it.
    terminal.onModifiersReleased = () => setHeld({ ctrl: false, alt: false });
  };
  // The press must not take the focus from the terminal: the phone's keyboard would close.
  const keepFocus = (event: PointerEvent): void => event.preventDefault();
  return (
    <div class="key-bar" role="toolbar" aria-label="Keys">
      <button type="button" onPointerDown={keepFocus} aria-pressed={held.ctrl} onClick={() => toggleModifier("ctrl")}>
        Ctrl
      </button>
      <button type="button" onPointerDown={keepFocus} aria-pressed={held.alt} onClick={() => toggleModifier("alt")}>
        Alt
      </button>
      {keyButtons.map(([label, name, description]) => (
        <button
          type="button"
          key={name}
          onPointerDown={keepFocus}
          aria-label={description}
          onClick={() => terminal.sendKey(name)}
        >
          {label}
        </button>
      ))}
      <button type="button" onPointerDown={keepFocus} aria-label="Paste" onClick={() => void terminal.input.paste()}>
        Paste
      </button>
      <button type="button" onPointerDown={keepFocus} aria-label="Prefix" onClick={() => terminal.type("\x1c")}>
        Ctrl+\
      </button>
    </div>
  );
}
