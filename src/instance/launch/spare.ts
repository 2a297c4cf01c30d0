/** How a session process knows that it is kept ready for a pane whose spec comes later, and when it may prepare itself. */
import { orUntil } from "../../base/deadline.ts";

/** Time that a process is kept ready before it rehearses, in ms: of panes made in a row, none waits for a rehearsal. */
const REST_MS = 300;
/** The sign by which a session process knows that it is kept ready for a pane: its spec comes later. */
const variable = "WSH_SPARE";

export function withSpareSign(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, [variable]: "1" };
}

/** Takes the sign away, which is not for what this process starts. @returns whether it was there */
export function takeSpareSign(): boolean {
  const isSpare = process.env[variable] !== undefined;
  delete process.env[variable];
  return isSpare;
}

/** Whether no spec has come for a while. */
export function isStillSpare(spec: Promise<string>): Promise<boolean> {
  return orUntil(
    spec.then(() => false),
    { ms: REST_MS },
    () => true,
  );
}
