/** How a client's stream ends, as reported to the client. */
import type { StreamEnd } from "../../protocol/control.ts";

export type ClientEnd = Pick<StreamEnd, "reason" | "exit_code" | "signal">;
