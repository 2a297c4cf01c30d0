/**
 * Plans and performs the change of one host's file. A plan is a value: what the file is, what it will be, why. Writing
 * replaces the file by rename after the old one was copied beside it, follows a symbolic link to its target and keeps
 * the mode, so a reader sees the old file or the new one and never half of one.
 */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { WshError } from "../../protocol/errors.ts";
import { type AiHost, ENTRY_NAME, type HostScope, type Launch, type Places } from "./hosts.ts";
import { at, readJsonc, removeFromJsonc, setInJsonc } from "./jsonc.ts";
import { readToml, removeFromToml, setInToml } from "./toml.ts";

/** New files hold no secret of ours, but their neighbours often do: for the owner alone. */
const NEW_FILE_MODE = 0o600;

export interface Change {
  readonly host: AiHost;
  readonly scope: HostScope;
  readonly file: string;
  /** The entry as it stands, undefined when there is none. */
  readonly found: unknown;
  /** Text of the file, undefined when it does not exist. */
  readonly before: string | undefined;
  readonly after: string;
  readonly kind: "create" | "add" | "update" | "remove" | "none";
}

/** The file of a host, undefined when the host has none in this scope. */
export function fileOf(host: AiHost, scope: HostScope, places: Places): string | undefined {
  const candidates = host.files[scope]?.(places);
  return candidates?.find((file) => existsSync(file)) ?? candidates?.[0];
}

/** The entry that a host has for wsh, undefined when there is none. Throws what reading the file throws. */
export function entryIn(host: AiHost, file: string): unknown {
  const text = textOf(file);
  if (text === undefined) return undefined;
  const root = host.syntax === "toml" ? readToml(text) : readJsonc(text);
  return at(root, [...host.servers(root), ENTRY_NAME]);
}

/**
 * What setting (or, without a launch, removing) the entry would do.
 * @throws WshError invalid_setting naming the file, when it cannot be understood
 */
export function planChange(host: AiHost, scope: HostScope, places: Places, launch: Launch | undefined): Change {
  const file = fileOf(host, scope, places);
  if (file === undefined) {
    const has = Object.keys(host.files).join(", ");
    throw new WshError("invalid_request", `${host.title} has no settings of scope '${scope}'`, {
      hint: `Use --scope ${has}.`,
    });
  }
  const before = textOf(file);
  try {
    const root = host.syntax === "toml" ? readToml(before ?? "") : readJsonc(before ?? "");
    const path = [...host.servers(root), ENTRY_NAME];
    const found = at(root, path);
    const after = edited(host, before ?? "", path, launch);
    return { host, scope, file, before, after, found, kind: kindOf(before, after, found, launch) };
  } catch (thrown) {
    const error = WshError.from(thrown);
    throw new WshError(error.code, `${file}: ${error.message}`, error.details, { cause: thrown });
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

/** Writes the change. Returns the path of the copy of the old file, undefined when there was none. */
export function applyChange(change: Change): string | undefined {
  if (change.kind === "none") return undefined;
  const target = change.before === undefined ? change.file : realpathSync(change.file);
  mkdirSync(dirname(target), { recursive: true });
  const mode = change.before === undefined ? NEW_FILE_MODE : statSync(target).mode & 0o777;
  const backup = change.before === undefined ? undefined : `${change.file}.before-wsh`;
  if (backup !== undefined) {
    copyFileSync(target, backup);
    chmodSync(backup, mode);
  }
  const fresh = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    writeFileSync(fresh, change.after, { mode });
    chmodSync(fresh, mode);
    renameSync(fresh, target);
  } finally {
    rmSync(fresh, { force: true });
  }
  return backup;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new WshError("invalid_setting", `${file} cannot be read: ${message}`, {}, { cause });
  }
}

/** The lines that differ, with a little around them, for --dry-run. */
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
