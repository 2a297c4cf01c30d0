/** Dependencies of an attached terminal's parts on the terminal and its session. Types only. */
import type { Instance } from "../../instance/paths.ts";
import type { Binding } from "../../keys/bindings.ts";
import type { ViewOperation } from "../../keys/view-operations.ts";
import type { Acting } from "../../protocol/caller.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import type { StatusTarget } from "../../session/types.ts";
import type { SessionAddress } from "../../session/viewers.ts";
import type { DisplayedContent } from "./displayed-content.ts";
import type { PersonKeys } from "./person-keys.ts";

export interface ControlsPort {
  readonly viewer: number;
  readonly readOnly: boolean;
  readonly by: Acting;
  readonly person: Pick<PersonKeys, "prefix" | "tables" | "copyModeKeys">;
  /** Whether the terminal has NO_COLOR. */
  readonly isPlain: boolean;
  readonly content: DisplayedContent;
  readonly size: Size;
  readonly isOver: boolean;
  readonly instance: Instance;
  readonly session: Pick<
    Session,
    | "id"
    | "name"
    | "windows"
    | "buffers"
    | "isPrivate"
    | "status"
    | "viewers"
    | "events"
    | "markedPane"
    | "keyboard"
    | "layout"
    | "questions"
  >;
  /** The part of the status line at a cell of the terminal. */
  statusAt(row: number, col: number): StatusTarget | null;
  /** Whether wsh may take the terminal's mouse, and whether it does while no part of this view needs it. */
  readonly mouse: { readonly isAllowed: boolean; readonly isTaken: boolean };
  /** Shows another session in this terminal. @throws WshError nested_session */
  go(place: SessionAddress): Promise<void>;
  /** The picture must be drawn again. */
  changed(): void;
  rang(): void;
  /** Passes input on to the program below. */
  sendInput(bytes: Uint8Array): void;
  /** The same, with mouse reports in cells of the program. */
  sendTranslated(bytes: Uint8Array): void;
  /** The person has copied something. */
  copy(text: string): void;
  /** Asks a page, which has its own dialogs for this. @returns whether the page was asked */
  askPage(operation: ViewOperation): boolean;
  /** Whether this is a page, whose caller may do less than the person here: its keys act on this session only. */
  readonly isPage: boolean;
  /** Runs a key's operation in the session. @returns its answer @throws WshError */
  operate(binding: Binding, signal: AbortSignal): Promise<unknown>;
  /** Requests the image of the terminal's clipboard, whose path is typed. */
  requestImage(): void;
  detach(): void;
  redraw(): void;
}
