/** Signals by name (any case, with or without SIG) or by this system's number. */
import { constants } from "node:os";
import { WshError } from "../../protocol/errors.ts";

/** @throws WshError invalid_request listing the known signals */
export function signalName(signal: string | number): NodeJS.Signals {
  const known = Object.keys(constants.signals).filter(isSignal);
  const number = Number(signal);
  const upper = String(signal).toUpperCase();
  const full = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  const found = known.find((name) => name === full || constants.signals[name] === number);
  if (found !== undefined) return found;
  throw new WshError("invalid_request", `'signal': unknown signal '${signal}'`, {
    hint: `Use one of ${known.map((name) => name.slice(3)).join(", ")}.`,
  });
}

function isSignal(name: string): name is NodeJS.Signals {
  return name in constants.signals;
}
