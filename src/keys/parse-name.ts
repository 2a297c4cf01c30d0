/**
 * Parses key names that people and agents write; the error for an unknown one offers similar names. Separate
 * from names.ts, which the page loads: the page parses only its own names, and needs no errors.
 */
import { editDistance } from "../protocol/edit-distance.ts";
import { WshError } from "../protocol/errors.ts";
import { ALT, CTRL, findKey, isOneCharacter, type Key, knownNames, MAX_NAME_LENGTH, modifierNames } from "./names.ts";

/** Maximum similar names in an error: enough to contain the intended one, few enough to read. */
const NEAR_NAMES = 5;
/** A name differing in more than this many letters is not similar. */
const NEAR_DISTANCE = 3;

/**
 * Reads one key name.
 * @throws WshError `unknown_key` with `key` and `near` (similar names)
 */
export function parseKeyName(name: string): Key {
  const key = findKey(name);
  if (key === null) throw unknownKey(name);
  return key;
}

function unknownKey(name: string): WshError {
  const shown = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  const near = findNearNames(name);
  const offer = near.length === 0 ? "" : `; near: ${near.join(", ")}`;
  return new WshError("unknown_key", `unknown key ${JSON.stringify(shown)}${offer}`, { key: shown, near });
}

function findNearNames(name: string): string[] {
  if (name.length === 0 || name.length > MAX_NAME_LENGTH) return [];
  const cut = Math.max(name.lastIndexOf("+", name.length - 2), name.lastIndexOf("-", name.length - 2));
  const front = cut < 0 ? "" : correctModifiers(name.slice(0, cut + 1));
  const last = name.slice(cut + 1);
  const exact = knownNames.get(last.toLowerCase());
  if (exact !== undefined || isOneCharacter(last)) return front === "" ? [] : [front + (exact?.spelling ?? last)];
  const wanted = last.toLowerCase();
  const byDistance = [...knownNames].map(([lower, { spelling }]) => ({
    spelling,
    distance: editDistance(wanted, lower),
  }));
  // A short name is similar to every other short name: allow a third of its letters, at least one.
  const allowed = Math.min(NEAR_DISTANCE, Math.max(1, Math.floor(last.length / 2)));
  return byDistance
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NEAR_NAMES)
    .map(({ spelling }) => front + spelling);
}

/** `Crtl+Atl+` → `Ctrl+Alt+`; an unreadable modifier is left out. */
function correctModifiers(front: string): string {
  const parts = front.split(/[+-]/).filter((part) => part !== "");
  const long = ["Ctrl", "Alt", "Shift"];
  const corrected = parts.flatMap((part) => {
    const bit = modifierNames.get(part.toLowerCase());
    if (bit !== undefined) return [bit === CTRL ? "Ctrl" : bit === ALT ? "Alt" : "Shift"];
    return long.filter((candidate) => editDistance(part.toLowerCase(), candidate.toLowerCase()) <= 2).slice(0, 1);
  });
  return [...new Set(corrected)].map((part) => `${part}+`).join("");
}
