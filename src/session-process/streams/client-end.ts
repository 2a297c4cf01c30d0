/** The end of a client's stream, in the form for the client. */
import type { StreamEnd } from "../../protocol/control.ts";

export type ClientEnd = Pick<StreamEnd, "reason" | "exit_code" | "signal">;
