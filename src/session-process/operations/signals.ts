/** Signals by name (any case, with or without SIG) or by this system's number. */
import { constants } from "node:os";
import { WshError } from "../../protocol/errors.ts";

/** @throws WshError invalid_request listing the known signals */
export function signalName(signal: string | number): NodeJS.Signals {
  const signalNames = Object.keys(constants.signals).filter(isSignal);
  const number = Number(signal);
  const upper = String(signal).toUpperCase();
  const full = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  const match = signalNames.find((name) => name === full || constants.signals[name] === number);
  if (match !== undefined) return match;
  throw new WshError("invalid_request", `'signal': unknown signal '${signal}'`, {
    hint: `Use one of ${signalNames.map((name) => name.slice(3)).join(", ")}.`,
  });
}

function isSignal(name: string): name is NodeJS.Signals {
  return name in constants.signals;
}
