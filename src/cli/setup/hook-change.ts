/**
 * Plans the changes of the files that hold our hooks of one host: files of ours alone, or entries merged into the
 * host's file. Never both: the hooks would run twice. A plan is a value: the old and new text of each file.
 */
import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { WshError } from "../../protocol/errors.ts";
import { type HookHost, isOurs, type MergedHooks } from "./agent-hooks.ts";
import type { PathInputs } from "./ai-hosts.ts";
import { type ConfigFile, placeOf, textOf } from "./host-file.ts";
import { changeListInJsonc, readJsonc, setInJsonc, valueAt } from "./jsonc.ts";
import { replaceFile } from "./replace-file.ts";

interface HookChange {
  readonly file: ConfigFile;
  /** Undefined when the file does not exist. */
  readonly oldText: string | undefined;
  /** Undefined when the file is removed. */
  readonly newText: string | undefined;
  readonly kind: "create" | "add" | "update" | "remove" | "none";
  /** The owner of the file. One of ours is removed with its directory, if that is ours too. */
  readonly owner: "host" | { readonly directory: string | null };
}

/** The place of the hooks: files of ours, a file of the host's, or none. */
type HookTarget = "own" | "merged" | "nowhere";

/**
 * Every file with hooks of ours, now or afterwards. @throws WshError invalid_setting naming a file that cannot be
 * understood
 */
export function planHooks(host: HookHost, places: PathInputs, wanted: HookTarget): HookChange[] {
  const { ownFiles, merged } = host;
  const files = Object.entries(ownFiles?.files ?? {}).map(([path, text]): HookChange => {
    const directory = ownFiles?.directory(places) ?? "";
    const place = placeOf(join(directory, path), "user", places.cwd);
    return planOwn(
      place,
      { directory: ownFiles?.shared === true ? null : directory },
      wanted === "own" ? text : undefined,
    );
  });
  const into = merged === undefined ? [] : [planIn(merged, places, wanted === "merged")];
  return [...files, ...into];
}

/** Paths of the files that hold hooks of ours. @throws WshError invalid_setting */
export function hookFiles({ ownFiles: own, merged }: HookHost, places: PathInputs): string[] {
  const ownFiles = Object.keys(own?.files ?? {})
    .map((path) => placeOf(join(own?.directory(places) ?? "", path), "user", places.cwd))
    .filter((place) => textOf(place)?.includes("wsh hook ") === true);
  const hosts = merged === undefined ? [] : [placeOf(merged.file(places), "user", places.cwd)];
  const mergedFiles = hosts.filter((place) => {
    const text = textOf(place);
    return text !== undefined && namingFile(place, () => isOurs(readJsonc(text)));
  });
  return [...ownFiles, ...mergedFiles].map(({ file }) => file);
}

function planOwn(file: ConfigFile, owner: HookChange["owner"], newText: string | undefined): HookChange {
  const oldText = textOf(file);
  if (oldText !== undefined && !oldText.includes("wsh hook ")) {
    if (newText === undefined) return { file, owner, oldText, newText: oldText, kind: "none" };
    throw new WshError("invalid_setting", `${file.file} was not written by wsh`, {
      hint: "It was not changed. Rename it first.",
    });
  }
  const kind =
    oldText === newText ? "none" : oldText === undefined ? "create" : newText === undefined ? "remove" : "update";
  return { file, owner, oldText, newText, kind };
}

function planIn(merged: MergedHooks, places: PathInputs, wanted: boolean): HookChange {
  const place = placeOf(merged.file(places), "user", places.cwd);
  const before = textOf(place);
  if (before === undefined && !wanted)
    return { file: place, owner: "host", oldText: before, newText: before, kind: "none" };
  return namingFile(place, () => planMerged(merged, place, before, wanted));
}

/** Adds the file's name to an error about its text. */
function namingFile<T>({ file }: ConfigFile, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const error = WshError.from(thrown);
    throw new WshError(error.code, `${file}: ${error.message}`, error.details, { cause: thrown });
  }
}

function planMerged(
  { entries, root = {} }: MergedHooks,
  file: ConfigFile,
  oldText: string | undefined,
  isWanted: boolean,
): HookChange {
  let text = oldText ?? "";
  const value = readJsonc(text);
  const hooks = valueAt(value, ["hooks"]) ?? {};
  if (typeof hooks !== "object" || Array.isArray(hooks)) {
    if (!isWanted) return { file, owner: "host", oldText, newText: oldText, kind: "none" };
    throw new WshError("invalid_setting", "'hooks' is not an object", { hint: "It was not changed." });
  }
  const wasOurs = isOurs(hooks);
  if (isWanted) {
    for (const [key, needed] of Object.entries(root)) {
      if (valueAt(value, [key]) === undefined) text = setInJsonc(text, [], { [key]: needed });
    }
  }
  const events = new Set([...Object.keys(hooks), ...entries.map(({ event }) => event)]);
  for (const event of events) {
    const handlers = valueAt(hooks, [event]) ?? [];
    if (!Array.isArray(handlers)) {
      if (!isWanted || !entries.some((entry) => entry.event === event)) continue;
      throw new WshError("invalid_setting", `'hooks.${event}' is not a list`, { hint: "It was not changed." });
    }
    const ours = isWanted ? entries.filter((entry) => entry.event === event).map((entry) => entry.value) : [];
    const own = handlers.filter((item) => isOurs(item));
    if (Bun.deepEquals(own, ours)) continue;
    text = changeListInJsonc(text, ["hooks", event], withoutOurs, ours);
  }
  if (text === (oldText ?? "")) return { file, owner: "host", oldText, newText: oldText, kind: "none" };
  const kind = !isWanted ? "remove" : oldText === undefined ? "create" : wasOurs ? "update" : "add";
  return { file, owner: "host", oldText, newText: text, kind };
}

/** What remains of an item of the host's list: all of it, others' additions to our group, or nothing. */
function withoutOurs(item: unknown): unknown {
  if (!isOurs(item)) return item;
  const handlers = valueAt(item, ["hooks"]);
  if (typeof item !== "object" || !Array.isArray(handlers)) return undefined;
  const others = handlers.filter((handler) => !isOurs(handler));
  return others.length === 0 ? undefined : { ...item, hooks: others };
}

/** @returns path of the copy of the old file; undefined without one, or when it was ours alone */
export function applyHooks({ kind, file, oldText, newText, owner }: HookChange): string | undefined {
  if (kind === "none") return undefined;
  if (newText === undefined) {
    rmSync(file.target);
    if (owner !== "host" && owner.directory !== null) removeEmpty(dirname(file.target), basename(owner.directory));
    return undefined;
  }
  const backup = replaceFile(file, oldText, newText);
  if (owner === "host" || backup === undefined) return backup;
  rmSync(backup);
  return undefined;
}

/** Removes an empty directory, and its empty parents up to the one of that name. */
function removeEmpty(directory: string, last: string): void {
  if (readdirSync(directory).length > 0) return;
  rmdirSync(directory);
  if (basename(directory) !== last) removeEmpty(dirname(directory), last);
}
