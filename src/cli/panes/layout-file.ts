/**
 * Layout files: the windows of a session as a small tree of programs, in TOML or JSON, or a layout in tmux's
 * notation. The whole file is read and checked before anything starts; an error names line and key. Pure,
 * except for reading the file.
 */
import fs from "node:fs";
import os from "node:os";
import { join, resolve } from "node:path";
import { findNodeAtLocation, parseTree } from "jsonc-parser";
import { parse, TomlError } from "smol-toml";
import { type AST, parseTOML } from "toml-eslint-parser";
import * as v from "valibot";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { isRecord } from "../../protocol/json.ts";
import {
  BoundsSchema,
  countPanes,
  type FloatLeaf,
  type LayoutTree,
  MAX_WEIGHT,
  MIN_WEIGHT,
  type PaneProgram,
} from "../../protocol/layout.ts";
import { isWindowName } from "../../protocol/names.ts";
import { readTmuxLayout } from "../../session/layout/tmux-layout.ts";
import { isLeaf, type LayoutNode } from "../../session/layout/tree.ts";
import { reasonOf } from "../../settings/config-file.ts";

/** A layout in tmux's notation. The checksum is optional here, so that the error can report that it is missing. */
const tmuxPattern = /^([0-9a-f]{4},)?\d+x\d+,\d+,\d+/;
/** Largest file that is read, in bytes: far more than any layout. */
const MAX_FILE_BYTES = 1_048_576;

/** The hint of every error in a file. */
const CORRECT = { hint: "Correct the file; nothing was started or changed." };

export type PlannedPane = PaneProgram & { readonly weight: number; readonly focus?: boolean };

export type PlannedNode =
  | PlannedPane
  | { readonly row: readonly PlannedNode[]; readonly weight: number }
  | { readonly column: readonly PlannedNode[]; readonly weight: number };

type PlannedFloat = FloatLeaf & { readonly focus?: boolean };

export interface PlannedWindow {
  readonly name: string | null;
  readonly tree: PlannedNode;
  readonly floats?: readonly PlannedFloat[];
}

/** The panes of a tree in reading order. */
export function plannedPanes(node: PlannedNode): PlannedPane[] {
  if ("row" in node) return node.row.flatMap(plannedPanes);
  if ("column" in node) return node.column.flatMap(plannedPanes);
  return [node];
}

type Path = readonly (string | number)[];

/** A file's value, and the line of each key. */
interface LayoutSource {
  readonly value: unknown;
  lineOf(path: Path): number | null;
}

/** The parsed file, and warnings about it. */
interface ReadLayout {
  readonly windows: readonly PlannedWindow[];
  readonly warnings: readonly string[];
}

interface Reading {
  readonly cwd: string;
  warn(path: Path, message: string): void;
  /** @throws WshError invalid_layout with the line */
  fail(path: Path, message: string): never;
}

/**
 * @param from a file, or a layout as tmux writes it
 * @param cwd directory against which relative directories are resolved
 * @throws WshError invalid_layout
 */
export function readLayout(from: string, cwd: string): ReadLayout {
  const singleWindow = (tmux: string): ReadLayout => ({
    windows: [{ name: null, tree: ofTmux(tmux, []) }],
    warnings: [],
  });
  if (tmuxPattern.test(from)) return singleWindow(from);
  const text = textOf(from);
  if (tmuxPattern.test(text.trim())) return singleWindow(text.trim());
  const isJson = from.endsWith(".json") || text.trimStart().startsWith("{");
  const { value, lineOf } = notTooDeep(from, () => (isJson ? jsonSource(text, from) : tomlSource(text, from)));
  const pathText = (path: Path): string => {
    const line = lineOf(path);
    return `${from}${line === null ? "" : `:${line}`}: ${path.length === 0 ? "" : `'${path.join(".")}' `}`;
  };
  const fail = (path: Path, message: string): never => {
    throw new WshError("invalid_layout", `${pathText(path)}${message}`, CORRECT);
  };
  const warnings: string[] = [];
  const reading: Reading = { cwd, fail, warn: (path, message) => void warnings.push(`${pathText(path)}${message}`) };
  if (!isRecord(value)) return fail([], "must be a table");
  const windows = notTooDeep(from, () =>
    "windows" in value ? readWindows(value, reading) : [readWindow(value, [], reading)],
  );
  for (const [index, { tree }] of windows.entries()) {
    if (countPanes(tree as LayoutTree) === null) fail(["windows", index], "is nested too deep or has too many panes");
  }
  const all = windows.flatMap(({ tree, floats = [] }) => [...plannedPanes(tree), ...floats]);
  const focused = all.filter(({ focus }) => focus === true);
  if (focused.length > 1) fail([], `${focused.length} panes have 'focus', only one may`);
  return { windows, warnings };
}

/** Reports a file nested too deep for the parser of its format as an invalid layout. */
function notTooDeep<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new WshError("invalid_layout", `${path}: is nested too deep`, CORRECT, { cause });
  }
}

function textOf(path: string): string {
  try {
    if (path === "-") return standardInput();
    const stat = fs.statSync(path);
    // A pipe may never end, and one without a writer may not even open.
    if (!stat.isFile()) throw new Error("not a regular file");
    const { size } = stat;
    if (size > MAX_FILE_BYTES) throw new Error(`${size} bytes exceed the limit of ${MAX_FILE_BYTES}`);
    // Some editors start a file with a byte order mark, which does not belong to its text.
    return fs.readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WshError("invalid_layout", `the layout '${path}' cannot be read: ${reason}`, {
      hint: "Give a file, - for standard input, or a layout in tmux's format (tmux display -p '#{window_layout}').",
    });
  }
}

function standardInput(): string {
  if (process.stdin.isTTY) throw new Error("standard input is a terminal");
  const bytes = fs.readFileSync(0);
  if (bytes.length > MAX_FILE_BYTES) throw new Error(`${bytes.length} bytes exceed the limit of ${MAX_FILE_BYTES}`);
  return bytes.toString("utf8").replace(/^\ufeff/, "");
}

function tomlSource(text: string, path: string): LayoutSource {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const message = `${path}:${cause.line}:${cause.column}: not valid TOML: ${reasonOf(cause)}`;
    throw new WshError("invalid_layout", message, CORRECT, { cause });
  }
  const lines = new Map<string, number>();
  const key = (at: Path): string => JSON.stringify(at);
  const note = (at: Path, { loc }: { readonly loc: AST.SourceLocation }): void => {
    if (!lines.has(key(at))) lines.set(key(at), loc.start.line);
  };
  const walk = (node: AST.TOMLContentNode, at: Path): void => {
    note(at, node);
    if (node.type === "TOMLArray") for (const [index, each] of node.elements.entries()) walk(each, [...at, index]);
    if (node.type === "TOMLInlineTable") for (const each of node.body) pair(each, at);
  };
  const pair = (node: AST.TOMLKeyValue, base: Path): void => {
    const at = [...base, ...node.key.keys.map((each) => (each.type === "TOMLBare" ? each.name : each.value))];
    note(at, node);
    walk(node.value, at);
  };
  for (const node of parseTOML(text).body[0].body) {
    if (node.type === "TOMLKeyValue") pair(node, []);
    else {
      note(node.resolvedKey, node);
      for (const each of node.body) pair(each, node.resolvedKey);
    }
  }
  return {
    value,
    lineOf: (at) => lines.get(key(at)) ?? (at.length === 0 ? null : (lines.get(key(at.slice(0, -1))) ?? null)),
  };
}

function jsonSource(text: string, path: string): LayoutSource {
  const mistakes: { error: number; offset: number; length: number }[] = [];
  const tree = parseTree(text, mistakes, { allowTrailingComma: true });
  const lineAt = (offset: number): number => text.slice(0, offset).split("\n").length;
  const [first] = mistakes;
  if (first !== undefined || tree === undefined) {
    throw new WshError("invalid_layout", `${path}:${lineAt(first?.offset ?? 0)}: not valid JSON`, CORRECT);
  }
  return {
    value: plainValue(tree),
    lineOf: (at) => {
      const node = findNodeAtLocation(tree, [...at]) ?? findNodeAtLocation(tree, at.slice(0, -1));
      return node === undefined ? null : lineAt(node.offset);
    },
  };
}

function plainValue(node: NonNullable<ReturnType<typeof parseTree>>): unknown {
  const children = node.children ?? [];
  if (node.type === "array") return children.map(plainValue);
  if (node.type !== "object") return node.value;
  return Object.fromEntries(
    children.map(({ children: [key, value] = [] }) => [
      String(key?.value),
      value === undefined ? null : plainValue(value),
    ]),
  );
}

type Table = Readonly<Record<string, unknown>>;

function readWindows(value: Table, reading: Reading): PlannedWindow[] {
  requireKnownKeys(value, ["windows"], [], reading);
  const { windows } = value;
  if (!Array.isArray(windows) || windows.length === 0) return reading.fail(["windows"], "must be a list of windows");
  return windows.map((each, index) => {
    const path = ["windows", index];
    return isRecord(each) ? readWindow(each, path, reading) : reading.fail(path, "must be a table");
  });
}

function readWindow({ floats, ...own }: Table, path: Path, reading: Reading): PlannedWindow {
  const window = readTiled(own, path, reading);
  if (floats === undefined) return window;
  if (!Array.isArray(floats)) return reading.fail([...path, "floats"], "must be a list of panes");
  return { ...window, floats: floats.map((each, index) => readFloat(each, [...path, "floats", index], reading)) };
}

function readFloat(value: unknown, path: Path, reading: Reading): PlannedFloat {
  if (!isRecord(value)) return reading.fail(path, "must be a table");
  const { x, y, width, height, hidden, border, ...program } = value;
  const bounds = v.safeParse(BoundsSchema, defined({ x, y, width, height }));
  if (!bounds.success) {
    const [issue] = bounds.issues;
    return reading.fail([...path, String(issue.path?.[0]?.key ?? "x")], 'must be cells, or a share such as "40%"');
  }
  for (const [key, flag] of Object.entries({ hidden, border })) {
    if (flag !== undefined && typeof flag !== "boolean") return reading.fail([...path, key], "must be true or false");
  }
  const { weight: _, ...pane } = readPane(program, path, reading);
  return { ...pane, ...bounds.output, ...defined({ hidden, border }) } as PlannedFloat;
}

function readTiled({ name, ...rest }: Table, path: Path, reading: Reading): PlannedWindow {
  if (name !== undefined && (typeof name !== "string" || !isWindowName(name))) {
    reading.fail([...path, "name"], "is not a window name: 1 to 64 characters without : / ~, and not only digits");
  }
  const windowName = typeof name === "string" ? name : null;
  if (!("tmux" in rest)) return { name: windowName, tree: readNode(rest, path, reading) };
  requireKnownKeys(rest, ["tmux", "panes"], path, reading);
  const { tmux, panes = [] } = rest;
  if (typeof tmux !== "string") return reading.fail([...path, "tmux"], "must be text");
  if (!Array.isArray(panes)) return reading.fail([...path, "panes"], "must be a list");
  const programs = panes.map((each, index) => readPane(each, [...path, "panes", index], reading));
  try {
    return { name: windowName, tree: ofTmux(tmux, programs) };
  } catch (thrown) {
    return reading.fail([...path, "tmux"], WshError.from(thrown).message);
  }
}

/** @param panes programs in the order of the layout; default: shells @throws WshError invalid_layout */
function ofTmux(text: string, panes: readonly PlannedPane[]): PlannedNode {
  const read = readTmuxLayout(text);
  if (panes.length > read.panes) {
    throw new WshError("invalid_layout", `the layout has ${read.panes} panes, but ${panes.length} are listed`);
  }
  const node = (from: LayoutNode): PlannedNode => {
    const { weight } = from;
    if (isLeaf(from)) return { ...panes[Number(from.pane)], weight };
    const children = from.children.map(node);
    return from.axis === "row" ? { row: children, weight } : { column: children, weight };
  };
  return node(read.tree);
}

function readNode(value: unknown, path: Path, reading: Reading): PlannedNode {
  if (!isRecord(value)) return reading.fail(path, "must be a table");
  for (const axis of ["row", "column"] as const) {
    if (!(axis in value)) continue;
    requireKnownKeys(value, [axis, "weight"], path, reading);
    const { [axis]: list } = value;
    if (!Array.isArray(list) || list.length === 0) return reading.fail([...path, axis], "must be a list of panes");
    const children = list.map((each, index) => readNode(each, [...path, axis, index], reading));
    const weight = weightOf(value, path, reading);
    return axis === "row" ? { row: children, weight } : { column: children, weight };
  }
  return readPane(value, path, reading);
}

const texts = ["command", "cwd", "shell", "title", "view", "stdin"] as const;
const flags = ["keep_after_exit", "focus"] as const;

function readPane(value: unknown, path: Path, reading: Reading): PlannedPane {
  if (!isRecord(value)) return reading.fail(path, "must be a table");
  requireKnownKeys(value, [...texts, ...flags, "env", "weight"], path, reading);
  const pane: Record<string, unknown> = { weight: weightOf(value, path, reading) };
  for (const key of texts) {
    const { [key]: text } = value;
    if (text === undefined) continue;
    if (typeof text !== "string" || (text.trim() === "" && key !== "stdin")) {
      return reading.fail([...path, key], "must be text that is not empty");
    }
    pane[key] = key === "cwd" ? directory(text, [...path, key], reading) : text;
  }
  for (const key of flags) {
    const { [key]: flag } = value;
    if (flag !== undefined && typeof flag !== "boolean") return reading.fail([...path, key], "must be true or false");
    if (flag !== undefined) pane[key] = flag;
  }
  const { env } = value;
  if (env !== undefined) {
    if (!isRecord(env) || Object.values(env).some((each) => typeof each !== "string")) {
      return reading.fail([...path, "env"], "must be a table of strings");
    }
    pane.env = env;
  }
  if (pane.view !== undefined && (pane.command !== undefined || pane.shell !== undefined)) {
    return reading.fail([...path, "view"], "cannot be used together with 'command' or 'shell'");
  }
  const planned = pane as PlannedPane;
  const missing = missingProgram(planned, reading.cwd);
  if (missing !== null)
    reading.warn([...path, "command"], `starts '${missing}', which is not found: its pane will close`);
  return planned;
}

/** Words that a shell itself implements. */
const builtins = new Set(
  (
    "alias bg bind break builtin case cd command continue declare echo enable eval exec exit export false fg for " +
    "function getopts hash if jobs kill let local printf pwd read readonly return select set shift source test time " +
    "times trap true type ulimit umask unset until wait while"
  ).split(" "),
);

/** The first word of a simple command, if no such program exists; null if that is uncertain. */
function missingProgram({ command, cwd, env }: PlannedPane, base: string): string | null {
  const word = /^[\w./+-]+(?=\s|$)/.exec(command ?? "")?.[0];
  if (word === undefined || word === "." || builtins.has(word) || env?.PATH !== undefined) return null;
  return Bun.which(word, { cwd: cwd ?? base }) === null ? word : null;
}

function directory(text: string, path: Path, { cwd, fail }: Reading): string {
  const home = text === "~" || text.startsWith("~/") ? join(os.homedir(), text.slice(1)) : text;
  const full = resolve(cwd, home);
  if (fs.statSync(full, { throwIfNoEntry: false })?.isDirectory() === true) return full;
  return fail(path, `is not a directory: '${full}'`);
}

function weightOf({ weight = 1 }: Table, path: Path, { fail }: Reading): number {
  if (typeof weight === "number" && weight >= MIN_WEIGHT && weight <= MAX_WEIGHT) return weight;
  return fail([...path, "weight"], `must be a number from ${MIN_WEIGHT} to ${MAX_WEIGHT}`);
}

function requireKnownKeys(value: Table, keys: readonly string[], path: Path, { fail }: Reading): void {
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined) fail([...path, unknown], `is unknown; use ${keys.join(", ")}`);
}
