/** A terminal's input modes while one of our elements takes its input: plain keys and pastes, and the mouse. */

import type { FrameModes } from "../../protocol/frame.ts";
import type { Settings } from "../../settings/table.ts";

/** Whether wsh may take the mouse of one terminal, and whether it does so outside of dialogs and copy mode. */
export class MousePolicy {
  constructor(
    private readonly settings: Pick<Settings, "mouse">,
    private readonly viewer: { readonly readOnly: boolean; readonly isComposed: boolean },
    private readonly content: { readonly hasSeveralPanes: boolean },
    private readonly session: { readonly status: object | null },
  ) {}

  get isAllowed(): boolean {
    return this.settings.mouse !== "off";
  }

  get isTaken(): boolean {
    const { settings, viewer, content, session } = this;
    if (!this.isAllowed || viewer.readOnly || viewer.isComposed) return false;
    return settings.mouse === "on" || content.hasSeveralPanes || session.status !== null;
  }
}

/** Mouse mode: none; clicks and the wheel; these and drags. */
type MouseMode = 0 | 1000 | 1002;

export function elementInputModes(program: FrameModes, mouse: MouseMode): FrameModes {
  return {
    ...program,
    bracketedPaste: true,
    mouse,
    mouseEncoding: mouse === 0 ? 0 : 1006,
    focus: false,
    applicationCursor: false,
    applicationKeypad: false,
    modifyOtherKeys: 0,
    kittyFlags: 0,
  };
}
