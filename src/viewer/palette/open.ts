/** Opens a command palette over a terminal, with the instance's known names and the latest lines. */
import type { Instance } from "../../instance/paths.ts";
import type { Bindings } from "../../keys/bindings.ts";
import { parseCommandLine } from "../../keys/line.ts";
import type { Acting } from "../../protocol/caller.ts";
import { destinations, type SwitcherRow } from "../switcher/destinations.ts";
import type { OwnDialog } from "../terminal/overlay-layer.ts";
import { bindingOfPaletteLine } from "./calls.ts";
import { knownFor, parametersAt } from "./entries.ts";
import { Palette } from "./palette.ts";
import { keepable, SavedLines } from "./saved-lines.ts";
import type { PaletteEntries } from "./suggest.ts";

interface OpenPort {
  readonly instance: Instance;
  readonly bindings: Bindings;
  readonly by: Acting;
  /**
   * Where the latest lines are stored: on disk; for a private session, only in this process; false: nowhere, for
   * another account's caller.
   */
  readonly remembers: "always" | "here" | false;
  changed(): void;
  /** @returns a line's answer, if the person should see it @throws WshError */
  run(line: string, signal: AbortSignal): Promise<unknown>;
  /** Passes input on to the program below. */
  typed(bytes: Uint8Array): void;
  /** The palette has closed. @param notice a notice to show */
  closed(notice: string | null): void;
  /** The line that could not be executed, with which it opens. */
}

export function openPalette(port: OpenPort): OwnDialog {
  const { instance, bindings, by } = port;
  const remembered = port.remembers === false ? null : new SavedLines(instance, port.remembers === "here");
  const knownWith = (found: readonly SwitcherRow[]): PaletteEntries =>
    knownFor(bindings, by, { places: found, recent: remembered?.lines ?? [] });
  let suggestions = knownWith([]);
  const palette = new Palette({
    get entries() {
      return suggestions;
    },
    changed: () => port.changed(),
    run(line, signal) {
      // An invalid line is not remembered.
      bindingOfPaletteLine(line);
      remembered?.add(keepable(line, parametersAt(parseCommandLine(line).operation) ?? []));
      return port.run(line, signal);
    },
    typed: (bytes) => port.typed(bytes),
    onClosed: (said) => port.closed(said),
  });
  void destinations(instance, "windows", by).then(
    (found) => {
      suggestions = knownWith(found);
      port.changed();
    },
    // Without targets, the person types their names.
    () => {},
  );
  return palette;
}
