/** Opens a command palette over a terminal, with what is known of the instance and of the last lines. */
import type { Instance } from "../../instance/paths.ts";
import type { Bindings } from "../../keys/bindings.ts";
import { parseCommandLine } from "../../keys/line.ts";
import type { WshError } from "../../protocol/errors.ts";
import type { OwnDialog } from "../attach/above.ts";
import { places } from "../switcher/places.ts";
import { bindingOfPaletteLine } from "./calls.ts";
import { knownFor, parametersAt } from "./known.ts";
import { Palette } from "./palette.ts";
import { keepable, Remembered } from "./remembered.ts";

export interface OpenPort {
  readonly instance: Instance;
  readonly bindings: Bindings;
  /** Nothing of the session is kept on disk. */
  readonly isPrivate: boolean;
  changed(): void;
  /** @returns what a line answered, if that is for the person to read @throws WshError */
  run(line: string, signal: AbortSignal): Promise<unknown>;
  /** Typed for what is below. */
  typed(bytes: Uint8Array): void;
  /** It is over. @param said for a moment, in its place */
  done(said: string | null): void;
  /** It opens with a line that could not be carried out. */
  readonly failed?: { readonly line: string; readonly error: WshError };
}

export function openPalette(port: OpenPort): OwnDialog {
  const { instance, bindings } = port;
  const remembered = new Remembered(instance, port.isPrivate);
  let known = knownFor(bindings, { places: [], recent: remembered.lines });
  const palette = new Palette({
    get known() {
      return known;
    },
    changed: () => port.changed(),
    run(line, signal) {
      // What cannot be called is not remembered.
      bindingOfPaletteLine(line);
      remembered.add(keepable(line, parametersAt(parseCommandLine(line).operation) ?? []));
      return port.run(line, signal);
    },
    typed: (bytes) => port.typed(bytes),
    done: (said) => port.done(said),
    ...(port.failed === undefined ? {} : { failed: port.failed }),
  });
  void places(instance, "windows").then(
    (found) => {
      known = knownFor(bindings, { places: found, recent: remembered.lines });
      port.changed();
    },
    // Without them, their names are typed.
    () => {},
  );
  return palette;
}
