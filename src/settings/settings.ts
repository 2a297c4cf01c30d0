/**
 * Resolves a setting's value: flag, else environment, else config.toml, else the table's default. Each value keeps its
 * origin, for `wsh config` and for code that treats "requested" and "default" differently (bind). A wrong flag or
 * variable prevents the start, with the value, its place and the valid values; so does an unreadable file that was
 * named. A mistake in the file keeps nobody from a terminal: whatever starts a session or server (`tolerant`) uses the
 * default instead of the wrong part and warns.
 */

import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { readRegularFile } from "../base/regular-file.ts";
import type { Instance } from "../instance/paths.ts";
import type { ConfiguredKey } from "../keys/configured.ts";
import type { LogLevel } from "../log/log.ts";
import { agentOfStarter } from "../platform/agent-above.ts";
import { startFault } from "../platform/executable.ts";
import { defined } from "../protocol/defined.ts";
import { editDistance } from "../protocol/edit-distance.ts";
import { WshError } from "../protocol/errors.ts";
import type { EventConsumer } from "../protocol/event-consumers.ts";
import type { Hook } from "../protocol/hooks.ts";
import { isRecord } from "../protocol/json.ts";
import type { Notify } from "../protocol/notices.ts";
import {
  isThemeRole,
  parseStyle,
  type StyleSpec,
  styleExpected,
  type ThemeRole,
  themeRoleNames,
} from "../protocol/theme.ts";
import { type ConfigText, parseConfig } from "./config-file.ts";
import { hooksIn, noticesIn, type WantedInFile, wantedTables } from "./hooks.ts";
import type { SettingFacts } from "./kinds.ts";
import { isSettingName, type SettingName, type Settings, settingNames, settingOf, valuesOf } from "./table.ts";

/** Largest config.toml, in bytes: a larger file is there by mistake. */
const largestConfigBytes = 256 * 1024;
/** Shortest part of a setting's name that suggests it, in characters. */
const shortestPart = 3;
/** The table of key bindings, and the table of styles of wsh's own elements. */
const KEYS = "keys";
const THEME = "theme";
/** A name of a table of keys within [keys] (keys/tables.ts). */
const ownTable = /^[a-z][a-z0-9_-]{1,31}$/;
/** Keys for several machines, which the file may contain and which have no effect yet. */
const federationKeys: readonly string[] = ["default_token", "server", "servers", "ip_access"];

type SettingOrigin =
  | { readonly from: "flag" }
  | { readonly from: "environment"; readonly variable: string }
  | { readonly from: "file"; readonly path: string; readonly line: number }
  | { readonly from: "default" };

/** An entry of the table [theme]. */
interface ThemeEntry {
  readonly role: ThemeRole;
  readonly text: string;
  readonly look: StyleSpec;
  readonly origin: SettingOrigin;
}

export interface LoadedSettings {
  readonly values: Settings;
  originOf(name: SettingName): SettingOrigin;
  /** The bindings in the file's table [keys], unparsed. */
  readonly keys: readonly ConfiguredKey[];
  /** The styles that the table [theme] changes. */
  readonly theme: readonly ThemeEntry[];
  /** Programs of the tables [[on]], which run at events. */
  readonly hooks: readonly WantedInFile<Hook>[];
  /** Channels of the tables [[notify]], by which a person is notified. */
  readonly notices: readonly WantedInFile<Notify>[];
  /** Parts without effect: the file, or allowed keys in it; one sentence each. */
  readonly warnings: readonly string[];
  /** A default replaces a wrong value of the file. */
  readonly isWrong: boolean;
  /** The AI agent that may have chosen the file: programs started by its settings act for that agent. */
  readonly agent: string | null;
}

export interface SettingSources {
  /** Values of command line flags by setting; undefined where the flag was not given. Text is read as the setting's. */
  readonly flags?: { readonly [K in SettingName]?: string | number | boolean | readonly string[] | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Errors in the file are warnings, and the default is used. */
  readonly tolerant?: boolean;
  /** Receives each error in the file, which is then neither thrown nor a warning. */
  readonly fault?: (error: WshError) => void;
}

/**
 * The settings of an instance. A file that was named (--config, WSH_CONFIG) must exist; the one at the
 * default path may be unreadable for us.
 * @throws WshError invalid_setting, with `key` for a wrong setting, and `file` and `line` for a wrong file
 */
export function loadSettings(instance: Instance, sources: SettingSources): LoadedSettings {
  const path = instance.configFile;
  const faults: string[] = [];
  const orElse: OrElse = (attempt, fallback, instead = "the default is used") => {
    try {
      return attempt();
    } catch (thrown) {
      const { tolerant, fault } = sources;
      if (!(thrown instanceof WshError) || thrown.details.file === undefined) throw thrown;
      if (fault !== undefined) fault(thrown);
      else if (tolerant === true) faults.push(`${thrown.message}: ${instead}`);
      else throw thrown;
      return fallback;
    }
  };
  const wrong: ReadConfig = { kind: "wrong" };
  const reading = (): ReadConfig => readConfig(path, instance.configNamed);
  const replacement = "the defaults are used, or values that reveal, permit and delete less";
  const read = instance.configNamed ? reading() : orElse(reading, wrong, replacement);
  const config = read.kind === "text" ? read.config : null;
  const warnings = read.kind === "forbidden" ? [read.warning] : checkKeys(config, path, orElse);
  const given: Partial<Record<SettingName, unknown>> = {};
  const origins = new Map<SettingName, SettingOrigin>();
  for (const name of settingNames) {
    const source = pick(name, sources, config, path);
    const { ifWrong } = settingOf(name);
    if (source.origin.from === "default") {
      if (read.kind === "wrong" && ifWrong !== undefined) given[name] = ifWrong;
      continue;
    }
    const instead = ifWrong === undefined ? undefined : `${ifWrong} is used`;
    const value = orElse(() => checkValue(name, source.value, source.origin, config), ifWrong, instead);
    if (value === undefined) continue;
    origins.set(name, source.origin);
    given[name] = value;
  }
  if (given.agents_may === "everything" && agentThatChose(origins.get("agents_may"), path) !== null) {
    delete given.agents_may;
    origins.delete("agents_may");
  }
  return {
    values: valuesOf(given),
    originOf: (name) => origins.get(name) ?? { from: "default" },
    keys: boundKeys(config, path),
    theme: themeEntries(config, path, orElse),
    hooks: hooksIn(config, path, orElse),
    notices: noticesIn(config, path, orElse),
    warnings: [...warnings, ...faults],
    isWrong: faults.length > 0,
    get agent() {
      return agentThatChose({ from: "file" }, path);
    },
  };
}

/** The AI agent that started this process, cached at the first use; undefined: not determined yet. */
let above: string | null | undefined;

/**
 * The AI agent that may have chosen a setting's source: an agent controls flags and environment, which may name its own
 * files. The file in the account's home is the person's.
 */
function agentThatChose(from: Pick<SettingOrigin, "from"> | undefined, path: string): string | null {
  if (from?.from === "file" && path === join(os.userInfo().homedir, ".config/wsh/config.toml")) return null;
  above ??= process.env.WSH_AGENT ?? agentOfStarter();
  return above;
}

/** The value of an attempt; if errors are only reported, the fallback. */
type OrElse = <T>(attempt: () => T, fallback: T, instead?: string) => T;

/** Hooks and notices of the settings. */
export function wantedOf(loaded: Pick<LoadedSettings, "hooks" | "notices" | "agent">): readonly EventConsumer[] {
  const all = [...loaded.hooks, ...loaded.notices];
  // Determined at the first load, even without hooks: this process may leave the pane in which it was started.
  const { agent } = loaded;
  return all.map(({ wanted }) => (agent === null ? wanted : { ...wanted, agent }));
}

/** The styles by their roles. */
export function changedStyles(entries: readonly ThemeEntry[]): Partial<Record<ThemeRole, StyleSpec>> {
  return Object.fromEntries(entries.map(({ role, look }) => [role, look]));
}

/** The error of the settings, for people whose old ones remain in effect: one line, with the file's base name. */
export function settingsFault(thrown: unknown): string {
  const { message } = WshError.from(thrown);
  return `the old settings remain in effect: ${message.replace(/^\/\S*\//, "").replace(/\s+/g, " ")}`;
}

/** The log level of a role: the setting if set, else info for a server or session process, warn for a client. */
export function logLevelFor(role: "server" | "session" | "client", settings: LoadedSettings): LogLevel {
  const isDefault = settings.originOf("log_level").from === "default";
  return role === "client" && isDefault ? "warn" : settings.values.log_level;
}

/** An origin in words: `flag`, `WSH_PTY`, `/home/me/.config/wsh/config.toml:3`, `default`. */
export function formatOrigin(origin: SettingOrigin): string {
  if (origin.from === "environment") return origin.variable;
  return origin.from === "file" ? `${origin.path}:${origin.line}` : origin.from;
}

interface SettingSource {
  readonly value: unknown;
  readonly origin: SettingOrigin;
}

function pick(
  name: SettingName,
  { flags, env }: SettingSources,
  config: ConfigText | null,
  path: string,
): SettingSource {
  const facts = settingOf(name);
  const flag = flags?.[name];
  if (flag !== undefined) {
    return { value: typeof flag === "string" ? fromText(facts, flag) : flag, origin: { from: "flag" } };
  }
  const text = facts.env === undefined ? undefined : env[facts.env];
  if (facts.env !== undefined && text !== undefined && text !== "") {
    return { value: fromText(facts, text), origin: { from: "environment", variable: facts.env } };
  }
  if (config !== null && Object.hasOwn(config.values, name)) {
    return { value: config.values[name], origin: { from: "file", path, line: config.lineOf(name) } };
  }
  const hostname = name === "hostname" ? serverHostname(config) : undefined;
  if (hostname !== undefined) {
    return { value: hostname, origin: { from: "file", path, line: config?.lineOf("hostname") ?? 1 } };
  }
  return { value: undefined, origin: { from: "default" } };
}

/** Where the file may name the host: `[server] hostname`. */
function serverHostname(config: ConfigText | null): unknown {
  const server = config?.values.server;
  return typeof server === "object" && server !== null && "hostname" in server ? server.hostname : undefined;
}

/** Text of a flag or variable as a value; invalid text is returned unchanged and fails the check. */
function fromText({ kind }: SettingFacts, text: string): unknown {
  switch (kind) {
    case "integer":
      return /^-?\d+$/.test(text) ? Number(text) : text;
    case "boolean":
      if (/^(1|true|on|yes)$/i.test(text)) return true;
      return /^(0|false|off|no)$/i.test(text) ? false : text;
    case "list":
      return text.split(",").map((item) => item.trim());
    case "choice":
    case "text":
    case "table":
      return text;
  }
}

function checkValue(name: SettingName, value: unknown, origin: SettingOrigin, config: ConfigText | null): unknown {
  const { isValid, faultIn, expected: right } = settingOf(name);
  const wrong = faultIn?.(value) ?? null;
  if (wrong !== null && config !== null && origin.from === "file") {
    const line = config.lineOfEntry(name, wrong.entry, wrong.key);
    const message = `${origin.path}:${line}: ${name}, entry ${wrong.entry + 1}: ${wrong.text}`;
    throw new WshError("invalid_setting", message, { key: name, file: origin.path, line });
  }
  const shell = name === "default_shell" && isValid(value) && typeof value === "string" && value !== "" ? value : null;
  const fault = shell === null ? null : startFault(shell);
  if (isValid(value) && fault === null) return value;
  const expected = fault === null ? right : `a shell: it ${fault}`;
  const place = origin.from === "file" ? { file: origin.path, line: origin.line } : {};
  const shown = JSON.stringify(value) ?? String(value);
  const source = origin.from === "flag" ? `the flag of ${name}` : formatOrigin(origin);
  const message = `${source}: ${name} is ${shown}, expected ${expected}`;
  throw new WshError("invalid_setting", message, { key: name, ...place });
}

type ReadConfig =
  | { readonly kind: "text"; readonly config: ConfigText }
  | { readonly kind: "absent" }
  | { readonly kind: "wrong" }
  | { readonly kind: "forbidden"; readonly warning: string };

function readConfig(path: string, isNamed: boolean): ReadConfig {
  let text: string;
  try {
    const size = fs.statSync(path).size;
    if (size > largestConfigBytes) {
      const message = `${path} has ${size} bytes; a configuration has at most ${largestConfigBytes}`;
      throw new WshError("invalid_setting", message, { file: path });
    }
    text = readRegularFile(path);
  } catch (error) {
    if (error instanceof WshError) throw error;
    const code = errorCode(error);
    if (!isNamed && (code === "ENOENT" || code === "ENOTDIR")) return { kind: "absent" };
    // For example under sudo without -H: HOME is another user's, and its settings were not requested.
    if (!isNamed && (code === "EACCES" || code === "EPERM")) {
      return { kind: "forbidden", warning: `${path} cannot be read (${code}): the default settings are used` };
    }
    const reason = error instanceof Error ? error.message : String(error);
    const hint = "Make it readable, or point HOME, XDG_CONFIG_HOME or WSH_CONFIG to your own files.";
    throw new WshError("invalid_setting", `${path} cannot be read: ${reason}`, { file: path, hint }, { cause: error });
  }
  return { kind: "text", config: parseConfig(text, path) };
}

/** The caller, which knows keys and operations, checks the entries. */
function boundKeys(config: ConfigText | null, path: string): ConfiguredKey[] {
  const table = config?.values[KEYS];
  if (!isRecord(table)) return [];
  return Object.entries(table).flatMap(([key, value]): ConfiguredKey[] => {
    // The table of one key describes its action; any other table contains keys.
    if (!isRecord(value) || !ownTable.test(key) || "operation" in value || "do" in value)
      return [{ key, value, path, line: config?.lineIn(KEYS, key) ?? 1 }];
    const within = Object.entries(value);
    return within.map(([name, bound]) => {
      return { table: key, key: name, value: bound, path, line: config?.lineIn(`${KEYS}.${key}`, name) ?? 1 };
    });
  });
}

/** @throws WshError invalid_setting for an unknown role or style */
function themeEntries(config: ConfigText | null, path: string, orElse: OrElse): ThemeEntry[] {
  const table = config?.values[THEME];
  if (!isRecord(table)) return [];
  const entryOf = (role: string, text: unknown): ThemeEntry => {
    const line = config?.lineIn(THEME, role) ?? 1;
    const refuse = (message: string, hint: string): WshError =>
      new WshError("invalid_setting", `${path}:${line}: [theme] ${message}`, { key: role, file: path, line, hint });
    if (!isThemeRole(role)) throw refuse(`unknown role '${role}'`, `Use one of ${themeRoleNames.join(", ")}.`);
    const look = typeof text === "string" ? parseStyle(text) : null;
    if (look === null || typeof text !== "string")
      throw refuse(`${role} is ${JSON.stringify(text)}, expected ${styleExpected}`, "docs/keys.md lists the styles.");
    return { role, text, look, origin: { from: "file", path, line } };
  };
  return Object.entries(table).flatMap(([role, text]) => orElse(() => [entryOf(role, text)], [], "it has no effect"));
}

/** WshError for the first unknown key; warnings for those that have no effect yet. */
function checkKeys(config: ConfigText | null, path: string, orElse: OrElse): string[] {
  return Object.keys(config?.values ?? {}).flatMap((key) =>
    orElse(() => checkKey(key, config, path), [], "it has no effect"),
  );
}

function checkKey(key: string, config: ConfigText | null, path: string): string[] {
  const line = config?.lineOf(key) ?? 1;
  if (isSettingName(key)) {
    if (settingOf(key).kind === "table") refuseStray(key, config, path, line);
    return [];
  }
  const isList = wantedTables.some((name) => name === key);
  if (isList || key === KEYS || key === THEME) {
    const value = config?.values[key];
    if (isList ? Array.isArray(value) && value.every(isRecord) : isRecord(value)) return [];
    const [found, wanted] = [isRecord(value) ? `[${key}]` : JSON.stringify(value), isList ? `[[${key}]]` : `[${key}]`];
    const message = `${path}:${line}: ${key} is ${found}, expected ${isList ? "tables" : "a table"} ${wanted}`;
    throw new WshError("invalid_setting", message, { key, file: path, line });
  }
  if (!federationKeys.includes(key)) throw unknownKey(key, path, line);
  refuseStray(key, config, path, line);
  return key === "server" ? [] : [`${path}:${line}: ${key} has no effect: federation is not implemented`];
}

/** @throws WshError invalid_setting */
function refuseStray(key: string, config: ConfigText | null, path: string, line: number): void {
  const stray = strayIn(config?.values[key]);
  if (stray === undefined) return;
  const place = config?.lineOf(stray) ?? line;
  const message = `${path}:${place}: ${stray} is in the table [${key}]`;
  const hint = "Settings must come before the first table.";
  throw new WshError("invalid_setting", message, { key: stray, file: path, line: place, hint });
}

/** A setting that ended up in a table, as happens when it is appended to a file that ends with one. */
function strayIn(table: unknown): SettingName | undefined {
  if (typeof table !== "object" || table === null) return undefined;
  return Object.keys(table)
    .filter(isSettingName)
    .find((name) => name !== "hostname");
}

function unknownKey(key: string, path: string, line: number): WshError {
  const near = nearSettings(key);
  const hint = near.length === 0 ? undefined : `Did you mean ${near.join(" or ")}?`;
  return new WshError("invalid_setting", `${path}:${line}: unknown setting '${key}'`, {
    key,
    file: path,
    line,
    ...defined({ hint }),
  });
}

/** Settings whose names are similar to a mistyped one: at most three, nearest first. */
export function nearSettings(key: string): SettingName[] {
  const lower = key.toLowerCase().replaceAll("-", "_");
  if (isSettingName(lower)) return [lower];
  return settingNames
    .map((name) => {
      const isPart = lower.length >= shortestPart && (name.includes(lower) || lower.includes(name));
      return { name, distance: isPart ? 0 : editDistance(lower, name) };
    })
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}
