/** Every tmux command that wsh offers. */
import type { Command } from "../run.ts";
import { accessCommands } from "./access.ts";
import { askingCommands } from "./asking.ts";
import { bufferCommands } from "./buffers.ts";
import { choosingCommands } from "./choosing.ts";
import { clientCommands } from "./clients.ts";
import { inputCommands } from "./input.ts";
import { keyCommands } from "./keys.ts";
import { layoutCommands } from "./layouts.ts";
import { listingCommands } from "./listing.ts";
import { paneCommands } from "./panes.ts";
import { popupCommands } from "./popup.ts";
import { sessionCommands } from "./sessions.ts";
import { settingCommands } from "./settings.ts";
import { shellCommands } from "./shell.ts";
import { windowCommands } from "./windows.ts";

/** By name. */
export const commandTable: readonly Command[] = [
  ...[sessionCommands, windowCommands, paneCommands, inputCommands, listingCommands],
  ...[settingCommands, bufferCommands, shellCommands, clientCommands],
  ...[accessCommands, askingCommands, choosingCommands, keyCommands, layoutCommands, popupCommands],
]
  .flat()
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));
