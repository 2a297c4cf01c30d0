/** Plans the change of the file that holds one host's hooks of ours. A plan is a value: what the file is and will be. */
import { rmSync } from "node:fs";
import { WshError } from "../../protocol/errors.ts";
import { type HookHost, isOurs } from "./agent-hooks.ts";
import type { Places } from "./ai-hosts.ts";
import { at, changeListInJsonc, readJsonc, setInJsonc } from "./jsonc.ts";
import { type Place, placeOf, textOf } from "./place.ts";
import { replaceFile } from "./replace-file.ts";

export interface HookChange {
  readonly place: Place;
  /** Undefined when there is no file. */
  readonly before: string | undefined;
  /** Undefined when the file goes. */
  readonly after: string | undefined;
  readonly kind: "create" | "add" | "update" | "remove" | "none";
}

/** @throws WshError invalid_setting naming the file, when it cannot be understood */
export function planHooks(host: HookHost, places: Places, isRemoving: boolean): HookChange {
  const place = placeOf(host.file(places), "user", places.cwd);
  const before = textOf(place);
  if (host.own !== undefined) return planOwn(place, before, host.own, isRemoving);
  try {
    return planMerged(host, place, before, isRemoving);
  } catch (thrown) {
    const error = WshError.from(thrown);
    throw new WshError(error.code, `${place.file}: ${error.message}`, error.details, { cause: thrown });
  }
}

/** Whether hooks of ours are in the host's file. */
export function hasHooks(host: HookHost, places: Places): boolean {
  const text = textOf(placeOf(host.file(places), "user", places.cwd));
  return text !== undefined && (host.own === undefined ? isOurs(readJsonc(text)) : text.includes("wsh hook "));
}

function planOwn(place: Place, before: string | undefined, own: string, isRemoving: boolean): HookChange {
  if (before !== undefined && !before.includes("wsh hook ")) {
    throw new WshError("invalid_setting", `${place.file} is not one that wsh wrote`, {
      hint: "It was left as it is. Give it another name first.",
    });
  }
  if (isRemoving) return { place, before, after: undefined, kind: before === undefined ? "none" : "remove" };
  const kind = before === undefined ? "create" : before === own ? "none" : "update";
  return { place, before, after: own, kind };
}

function planMerged(host: HookHost, place: Place, before: string | undefined, isRemoving: boolean): HookChange {
  const { merged = [], root = {} } = host;
  let text = before ?? "";
  const value = readJsonc(text);
  const hooks = at(value, ["hooks"]) ?? {};
  if (typeof hooks !== "object" || Array.isArray(hooks)) {
    throw new WshError("invalid_setting", "'hooks' is no object", { hint: "It was left as it is." });
  }
  const had = isOurs(hooks);
  if (!isRemoving) {
    for (const [key, wanted] of Object.entries(root)) {
      if (at(value, [key]) === undefined) text = setInJsonc(text, [], { [key]: wanted });
    }
  }
  const events = new Set([...Object.keys(hooks), ...merged.map(({ event }) => event)]);
  for (const event of events) {
    const found = at(hooks, [event]) ?? [];
    if (!Array.isArray(found)) {
      if (!merged.some((entry) => entry.event === event)) continue;
      throw new WshError("invalid_setting", `'hooks.${event}' is no list`, { hint: "It was left as it is." });
    }
    const ours = isRemoving ? [] : merged.filter((entry) => entry.event === event).map((entry) => entry.value);
    const own = found.filter((item) => isOurs(item));
    if (Bun.deepEquals(own, ours)) continue;
    text = changeListInJsonc(text, ["hooks", event], withoutOurs, ours);
  }
  if (text === (before ?? "")) return { place, before, after: text, kind: "none" };
  const kind = isRemoving ? "remove" : before === undefined ? "create" : had ? "update" : "add";
  return { place, before, after: text, kind };
}

/** What stays of an item of the host's list: all of it, what others have added to our group, or nothing. */
function withoutOurs(item: unknown): unknown {
  if (!isOurs(item)) return item;
  const handlers = at(item, ["hooks"]);
  if (typeof item !== "object" || !Array.isArray(handlers)) return undefined;
  const others = handlers.filter((handler) => !isOurs(handler));
  return others.length === 0 ? undefined : { ...item, hooks: others };
}

/** @returns path of the copy of the old file; undefined when there was none, or it was ours alone */
export function applyHooks({ kind, place, before, after }: HookChange): string | undefined {
  if (kind === "none") return undefined;
  if (after !== undefined) return replaceFile(place, before, after);
  rmSync(place.target);
  return undefined;
}
