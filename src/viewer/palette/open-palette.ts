/** Opens a command palette over a terminal, with the instance's known names and the latest lines. */
import type { Instance } from "../../instance/paths.ts";
import type { Bindings } from "../../keys/bindings.ts";
import { parseCommandLine } from "../../keys/line.ts";
import type { Acting } from "../../protocol/caller.ts";
import { listDestinations, type SwitcherRow } from "../switcher/destinations.ts";
import type { TerminalDialog } from "../terminal/overlay-layer.ts";
import { parsePaletteLine } from "./calls.ts";
import { buildEntries, listParameters } from "./entries.ts";
import { Palette } from "./palette.ts";
import { SavedLines, storableLine } from "./saved-lines.ts";
import type { PaletteEntries } from "./suggest.ts";

interface OpenPort {
  readonly instance: Instance;
  readonly bindings: Bindings;
  readonly by: Acting;
  /**
   * Where the latest lines are stored. `always`: on disk; `here`: only in this process, for a private session;
   * false: nowhere, for another account's caller.
   */
  readonly lineStorage: "always" | "here" | false;
  changed(): void;
  /** @returns a line's answer, if the person should see it @throws WshError */
  run(line: string, signal: AbortSignal): Promise<unknown>;
  /** Passes input on to the program below. */
  sendInput(bytes: Uint8Array): void;
  /** The palette has closed. @param notice a notice to show */
  closed(notice: string | null): void;
}

export function openPalette(port: OpenPort): TerminalDialog {
  const { instance, bindings, by } = port;
  const savedLines = port.lineStorage === false ? null : new SavedLines(instance, port.lineStorage === "here");
  const entriesWith = (rows: readonly SwitcherRow[]): PaletteEntries =>
    buildEntries(bindings, by, { places: rows, recent: savedLines?.lines ?? [] });
  let entries = entriesWith([]);
  const palette = new Palette({
    get entries() {
      return entries;
    },
    changed: () => port.changed(),
    run(line, signal) {
      // An invalid line is not remembered.
      parsePaletteLine(line);
      savedLines?.add(storableLine(line, listParameters(parseCommandLine(line).operation) ?? []));
      return port.run(line, signal);
    },
    sendInput: (bytes) => port.sendInput(bytes),
    onClosed: (notice) => port.closed(notice),
  });
  void listDestinations(instance, "windows", by).then(
    (rows) => {
      entries = entriesWith(rows);
      port.changed();
    },
    // Without targets, the person types their names.
    () => {},
  );
  return palette;
}
