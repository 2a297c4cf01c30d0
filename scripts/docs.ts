/**
 * The parts of docs/*.md that the code's own tables say: operations, error codes, message types, tools, key names.
 * `bun scripts/docs.ts` writes each between its two marks; a test compares the files with what this makes.
 */
import { join } from "node:path";
import { bindingRows, defaultBindings, keyLabel } from "../src/keys/bindings.ts";
import { copyModeActions, copyModeKeys } from "../src/keys/copy-table.ts";
import { keyNames } from "../src/keys/names.ts";
import { tools } from "../src/mcp/tools/tools.ts";
import { agentOperations } from "../src/operations/agents.ts";
import { askingOperations } from "../src/operations/asking.ts";
import { bufferOperations } from "../src/operations/buffers.ts";
import { checkpointOperations } from "../src/operations/checkpoints.ts";
import { commandOperations } from "../src/operations/commands.ts";
import type { Operation } from "../src/operations/define.ts";
import { elementOperations } from "../src/operations/drawing.ts";
import { eventOperations } from "../src/operations/events.ts";
import { historyOperations } from "../src/operations/history.ts";
import { lineOperations } from "../src/operations/lines.ts";
import { paneOperations } from "../src/operations/panes.ts";
import { receiptOperations } from "../src/operations/receipts.ts";
import { serverOperations } from "../src/operations/server.ts";
import { sessionOperations } from "../src/operations/sessions.ts";
import { terminalOperations } from "../src/operations/terminal.ts";
import { windowOperations } from "../src/operations/windows.ts";
import { errorCodes, WshError } from "../src/protocol/errors.ts";
import { messageTypes } from "../src/protocol/messages.ts";
import { themeRoleNames, themeRoles } from "../src/protocol/theme.ts";

const code = (text: string): string => `\`${text}\``;
/** Text that stands in a cell of a table. */
const cell = (text: string): string => text.replace(/\n/g, " ").replace(/\|/g, "\\|");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

const groups: readonly (readonly [string, readonly Operation[]])[] = [
  ["The server", [...serverOperations, ...eventOperations]],
  ["Sessions", sessionOperations],
  ["Terminal", [...terminalOperations, ...lineOperations]],
  ["Commands and waiting", [...commandOperations, ...receiptOperations]],
  ["Agents", agentOperations],
  ["Overlays, panels and the keyboard", elementOperations],
  ["Windows and panes", [...windowOperations, ...paneOperations]],
  ["Questions", askingOperations],
  ["Paste buffers", bufferOperations],
  ["History", historyOperations],
  ["Crashed sessions", checkpointOperations],
];

/** Operations that only the gateway and the command line call have no binding and are left out. */
function operationTables(): string {
  const sections = groups.map(([title, operations]) => {
    const bound = operations.filter(({ http, ws }) => http.length + ws.length > 0);
    const rows = bound.map(({ name, access, summary, http, ws }) => [
      http.map(({ method, path }) => code(`${method} ${path}`)).join("<br>") || "–",
      ws.map(code).join("<br>") || "–",
      access,
      `${summary}. ${code(name)}`,
    ]);
    return `### ${title}\n\n${table(["HTTP", "WebSocket", "access", "what it does"], rows)}`;
  });
  return sections.join("\n\n");
}

function errorTable(): string {
  const rows = errorCodes.map((each) => {
    const error = new WshError(each, "");
    return [String(error.status), code(each), error.hintAt("http")];
  });
  return table(["status", "code", "way out"], rows);
}

function messageTable(): string {
  const rows = Object.entries(messageTypes).map(([name, type]) => [
    code(`0x${type.toString(16).padStart(2, "0")}`),
    name,
  ]);
  return table(["type", "name"], rows);
}

function toolTable(): string {
  const rows = tools.map(({ name, core, access, title }) => [
    `[${code(name)}](#${name})`,
    title,
    core ? "core" : "all",
    access,
  ]);
  return table(["tool", "what for", "set", "access"], rows);
}

type Json = Readonly<Record<string, unknown>>;
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** A JSON schema's type in a few words. */
function typeOf(schema: unknown): string {
  if (!isJson(schema)) return "any";
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return [...new Set(choices.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return typeof schema.type === "string" ? schema.type : "any";
}

/** The list describes a parameter where it first has it. */
function firstDescriptions(): ReadonlyMap<string, string> {
  const all = tools.flatMap(({ inputJson }) =>
    isJson(inputJson.properties) ? Object.entries(inputJson.properties) : [],
  );
  const described = all.flatMap(([name, schema]): [string, string][] =>
    isJson(schema) && typeof schema.description === "string" ? [[name, schema.description]] : [],
  );
  return new Map(described.toReversed());
}

function toolSections(): string {
  const usual = firstDescriptions();
  const sections = tools.map(({ name, title, description, inputJson, documented }) => {
    const required = Array.isArray(inputJson.required) ? inputJson.required : [];
    const listed = isJson(inputJson.properties) ? inputJson.properties : {};
    const whole = documented().properties;
    const properties = Object.entries(isJson(whole) ? whole : {});
    const rows = properties.map(([parameter, full]) => {
      const short = listed[parameter];
      const schema = isJson(full) && isJson(short) ? { ...full, ...short } : full;
      const { default: initial, description: text } = isJson(schema) ? schema : {};
      const value = required.includes(parameter)
        ? "required"
        : initial === undefined
          ? ""
          : code(JSON.stringify(initial));
      return [code(parameter), typeOf(schema), value, typeof text === "string" ? text : (usual.get(parameter) ?? "")];
    });
    return `### ${name}\n\n${title}. ${description}\n\n${table(["parameter", "type", "default", ""], rows)}`;
  });
  return sections.join("\n\n");
}

/** F1 to F24 and the keypad's digits stand in one row each. */
function keyTable(): string {
  const rows = keyNames().flatMap(([name = "", ...synonyms]) => {
    const [, family, number] = /^(F|KP)(\d+)$/.exec(name) ?? [];
    if (family === undefined) return [[code(name), synonyms.map(code).join(" ")]];
    if (family === "F") return number === "1" ? [["`F1` to `F24`", ""]] : [];
    return number === "0" ? [["`KP0` to `KP9`", "`KP_0` to `KP_9`"]] : [];
  });
  return table(["key", "also"], rows);
}

/** What keys do after the prefix. */
function bindingTable(): string {
  const rows = bindingRows(defaultBindings).map(({ keys, description }) => {
    const bound = [...defaultBindings.values()].filter((binding) => binding.description === description);
    const names = [...new Set(bound.map(({ operation }) => code(operation)))].join(" ");
    return [
      keys.map(code).join(" "),
      `${description}${bound.some(({ repeat }) => repeat === true) ? " ↻" : ""}`,
      names,
    ];
  });
  return table(["key", "what it does", "operation"], rows);
}

/** What the theme may change. */
function themeTable(): string {
  const rows = themeRoleNames.map((role) => [code(role), code(themeRoles[role][0]), themeRoles[role][1]]);
  return table(["role", "by default", "of"], rows);
}

/** What keys do while looking back, in vi's way and in emacs'. */
function lookTable(): string {
  const labels = (mode: "vi" | "emacs", action: string): string =>
    Object.entries(copyModeKeys(mode))
      .filter(([, each]) => each === action)
      .map(([key]) => code(keyLabel(key)))
      .join(" ");
  const rows = Object.entries(copyModeActions).map(([action, description]) => [
    description,
    labels("vi", action),
    labels("emacs", action),
  ]);
  return table(["what it does", "vi", "emacs"], rows);
}

/** What stands between the marks, by file and mark. */
export const generated: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "docs/protocol.md": { operations: operationTables, errors: errorTable, messages: messageTable },
  "docs/mcp-tools.md": { tools: toolTable, parameters: toolSections },
  "docs/keys.md": { bindings: bindingTable, looking: lookTable, looks: themeTable, keys: keyTable },
};

/** The file's text with every generated part written anew. @throws Error when a mark is missing */
export function withGenerated(file: string, text: string): string {
  let result = text;
  for (const [name, make] of Object.entries(generated[file] ?? {})) {
    const begin = `<!-- ${name}: written by scripts/docs.ts -->`;
    const end = `<!-- end of ${name} -->`;
    const from = result.indexOf(begin);
    const to = result.indexOf(end);
    if (from < 0 || to < from) throw new Error(`${file} has no marks of '${name}'`);
    result = `${result.slice(0, from + begin.length)}\n\n${make()}\n\n${result.slice(to)}`;
  }
  return result;
}

if (import.meta.main) {
  for (const file of Object.keys(generated)) {
    const path = join(import.meta.dir, "..", file);
    await Bun.write(path, withGenerated(file, await Bun.file(path).text()));
    console.log(file);
  }
}
