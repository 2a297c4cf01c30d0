/** How a stream of a client ends, as the client is told. */
import type { StreamEnd } from "../../protocol/control.ts";

export type ClientEnd = Pick<StreamEnd, "reason" | "exit_code" | "signal">;
