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
