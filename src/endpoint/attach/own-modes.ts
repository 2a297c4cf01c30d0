/** What a terminal sends while something of ours takes what is typed there: plain keys and pastes, and the mouse. */
import type { Settings } from "../../instance/settings/table.ts";
import type { FrameModes } from "../../protocol/frame.ts";

/** Whether the mouse of one terminal may be ours, and whether it is while no dialog or look back needs it. */
export class TakenMouse {
  readonly isAllowed: boolean;

  constructor(
    private readonly setting: Settings["mouse"],
    private readonly viewer: { readonly readOnly: boolean; readonly composed: boolean },
    private readonly shown: { readonly hasSeveral: boolean },
    private readonly session: { readonly hasStatus: boolean },
  ) {
    this.isAllowed = setting !== "off";
  }

  get isTaken(): boolean {
    const { setting, viewer, shown, session } = this;
    if (setting === "off" || viewer.readOnly || viewer.composed) return false;
    return setting === "on" || shown.hasSeveral || session.hasStatus;
  }
}

/** Nothing; clicks and the wheel; these and drags. */
export type OwnMouse = 0 | 1000 | 1002;

export function ownModes(program: FrameModes, mouse: OwnMouse): FrameModes {
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
