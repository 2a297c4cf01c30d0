/** What questions need of their session, and what their parts share. Types only. */
import type { Clock } from "../../base/clock.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { PaneRef } from "../types.ts";

export interface QuestionsPort {
  readonly clock: Clock;
  readonly newId: () => string;
  /** Terminals at which a person can answer. */
  people(): number;
  readonly secrets: PaneRef["secrets"];
  programState(): SessionState;
  /** The person takes the program over: nobody else holds the keyboard. */
  releaseKeyboard(): void;
  /** What the terminals show of questions has changed. */
  changed(): void;
}
