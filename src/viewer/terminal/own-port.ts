/** What the parts of one attached terminal need of it and of its session. Types only. */
import type { Instance } from "../../instance/paths.ts";
import type { Binding } from "../../keys/bindings.ts";
import type { ViewOperation } from "../../keys/view-operations.ts";
import type { Acting } from "../../protocol/caller.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import type { StatusTarget } from "../../session/types.ts";
import type { SessionPlace } from "../../session/viewers.ts";
import type { PersonKeys } from "./person-keys.ts";
import type { Shown } from "./shown.ts";

export interface OwnViewPort {
  readonly viewer: number;
  readonly readOnly: boolean;
  readonly by: Acting;
  readonly person: Pick<PersonKeys, "prefix" | "tables" | "look">;
  /** The terminal has NO_COLOR. */
  readonly isPlain: boolean;
  readonly shown: Shown;
  readonly size: Size;
  readonly isOver: boolean;
  readonly instance: Instance;
  readonly session: Pick<
    Session,
    "id" | "name" | "windows" | "buffers" | "isPrivate" | "status" | "viewers" | "marked" | "layout" | "questions"
  >;
  /** The part of the status line at a cell of the terminal. */
  statusAt(row: number, col: number): StatusTarget | null;
  /** Whether the mouse may be taken from the terminal, and whether it is, while nothing of this view needs it. */
  readonly mouse: { readonly isAllowed: boolean; readonly isTaken: boolean };
  /** Shows another session in this terminal. @throws WshError nested_session */
  go(place: SessionPlace): Promise<void>;
  /** Something else is to be shown. */
  changed(): void;
  rang(): void;
  /** Passes input on to the program below. */
  typed(bytes: Uint8Array): void;
  /** The same, with mouse reports in its cells. */
  placed(bytes: Uint8Array): void;
  /** The person has copied something. */
  copy(text: string): void;
  /** A page has its own dialogs for this. @returns whether the page was asked */
  wanted(operation: ViewOperation): boolean;
  /** A page's caller may do less than the person here: its keys act on this session alone. */
  readonly isPage: boolean;
  /** Runs a key's operation in the session. @returns its answer @throws WshError */
  operate(binding: Binding, signal: AbortSignal): Promise<unknown>;
  detach(): void;
  /** Redraws everything. */
  redraw(): void;
}
