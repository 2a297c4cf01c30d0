/** Plans and performs the change of one host's file. A plan is a value: the file's old and new text, and the reason. */
import { existsSync } from "node:fs";
import { WshError } from "../../protocol/errors.ts";
import { type AiHost, ENTRY_NAME, type HostScope, type Launch, type PathInputs } from "./ai-hosts.ts";
import { type ConfigFile, placeOf, textOf } from "./host-file.ts";
import { readJsonc, removeFromJsonc, setInJsonc, valueAt } from "./jsonc.ts";
import { replaceFile } from "./replace-file.ts";
import { readToml, removeFromToml, setInToml } from "./toml.ts";

interface Change {
  readonly host: AiHost;
  readonly scope: HostScope;
  readonly file: ConfigFile;
  /** The current entry, undefined without one. */
  readonly currentEntry: unknown;
  /** Text of the file, undefined when it does not exist. */
  readonly oldText: string | undefined;
  readonly newText: string;
  readonly kind: "create" | "add" | "update" | "remove" | "none";
}

/** The file of a host, undefined when the host has none in this scope. */
export function fileOf(host: AiHost, scope: HostScope, places: PathInputs): string | undefined {
  const candidates = host.files[scope]?.(places);
  return candidates?.find((file) => existsSync(file)) ?? candidates?.[0];
}

/** A host's entry for wsh, undefined without one. Throws errors of reading the file. */
export function entryIn(host: AiHost, place: ConfigFile): unknown {
  const text = textOf(place);
  if (text === undefined) return undefined;
  const root = host.syntax === "toml" ? readToml(text) : readJsonc(text);
  return valueAt(root, [...host.servers(root), ENTRY_NAME]);
}

/**
 * Plans setting (or, without a launch, removing) the entry.
 * @throws WshError invalid_setting naming a file that cannot be parsed
 */
export function planChange(host: AiHost, scope: HostScope, places: PathInputs, launch: Launch | undefined): Change {
  const path = fileOf(host, scope, places);
  if (path === undefined) {
    const has = Object.keys(host.files).join(", ");
    throw new WshError("invalid_request", `${host.title} does not support scope '${scope}'`, {
      hint: `Use --scope ${has}.`,
    });
  }
  const file = placeOf(path, scope, places.cwd);
  const oldText = textOf(file);
  try {
    const root = host.syntax === "toml" ? readToml(oldText ?? "") : readJsonc(oldText ?? "");
    const keys = [...host.servers(root), ENTRY_NAME];
    const entry = valueAt(root, keys);
    const newText = edited(host, oldText ?? "", keys, launch);
    return { host, scope, file, oldText, newText, currentEntry: entry, kind: kindOf(oldText, newText, entry, launch) };
  } catch (thrown) {
    const error = WshError.from(thrown);
    throw new WshError(error.code, `${path}: ${error.message}`, error.details, { cause: thrown });
  }
}

function edited(host: AiHost, text: string, path: readonly string[], launch: Launch | undefined): string {
  if (launch === undefined) {
    return host.syntax === "toml" ? removeFromToml(text, path) : removeFromJsonc(text, path);
  }
  const entry = host.entry(launch);
  return host.syntax === "toml" ? setInToml(text, path, entry) : setInJsonc(text, path, entry);
}

function kindOf(before: string | undefined, after: string, found: unknown, launch: Launch | undefined): Change["kind"] {
  if (after === (before ?? "")) return "none";
  if (launch === undefined) return "remove";
  if (before === undefined) return "create";
  return found === undefined ? "add" : "update";
}

/** Writes the change. Returns the path of the copy of the old file, undefined without an old file. */
export function applyChange({ kind, file, oldText, newText }: Change): string | undefined {
  return kind === "none" ? undefined : replaceFile(file, oldText, newText);
}

/** The differing lines, with some context, for --dry-run. */
export function describeDifference(before: string, after: string): string {
  const old = before.split("\n");
  const fresh = after.split("\n");
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  const most = Math.min(old.length, fresh.length) - head;
  while (tail < most && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  const removed = old.slice(head, old.length - tail).map((line) => `- ${line}`);
  const added = fresh.slice(head, fresh.length - tail).map((line) => `+ ${line}`);
  return [`@@ line ${head + 1} @@`, ...removed, ...added].join("\n");
}
