/**
 * Completions at the caret of a line of the command palette: operations by a few letters of their name or description,
 * then their parameters, then values. Pure.
 */
import { quoteValue, splitWords, TARGET_PARAMETER, type Word } from "../../keys/line.ts";
import { fuzzyRanked } from "../../protocol/fuzzy.ts";

export interface KnownOperation {
  readonly name: string;
  readonly description: string;
  /** Its keys, as people write them. */
  readonly keys: string;
  /** Whether it ends or discards something: listed last, unless its own word is typed (`pane.close`: close). */
  readonly ends: boolean;
}

interface KnownParameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  /** All its values; empty if they cannot be listed. */
  readonly values: readonly string[];
}

export interface NamedTarget {
  readonly text: string;
  readonly description: string;
}

export interface PaletteEntries {
  readonly operations: readonly KnownOperation[];
  /** Null for an unknown operation. */
  parameters(operation: string): readonly KnownParameter[] | null;
  /** Sessions, windows and panes. */
  readonly targets: readonly NamedTarget[];
  readonly keyNames: readonly string[];
  /** Newest first. */
  readonly recent: readonly string[];
}

export interface Suggestion extends NamedTarget {
  /** The shown text. */
  readonly label: string;
  readonly keys: string;
  readonly kind: "recent" | "operation" | "parameter" | "value";
}

export interface Completions {
  readonly items: readonly Suggestion[];
  /** The part of the line that a suggestion replaces. */
  readonly from: number;
  readonly to: number;
  /** Whether the first suggestion is selected unless another is chosen: the text so far is not a complete line. */
  readonly selectsFirst: boolean;
  /** A short description of the line. */
  readonly note: string;
}

/** Past lines that are offered before anything is typed. */
const MAX_RECENT = 5;
/** Parameters that name a session, window or pane. */
const targetParameters: ReadonlySet<string> = new Set([
  ...[TARGET_PARAMETER, "with", "to", "view", "beside", "sessions", "last_session"],
]);

export function suggest(line: string, caret: number, entries: PaletteEntries): Completions {
  const { words } = splitWords(line);
  const index = words.findIndex(({ from, to }) => from <= caret && caret <= to);
  const word: Word = words[index] ?? { text: "", from: caret, to: caret };
  const [first] = words;
  if (first === undefined || index === 0) return suggestOperations(first?.text ?? "", word, entries);
  const { from, to } = word;
  const parameters = entries.parameters(first.text);
  if (parameters === null) {
    // Words that describe the operation: `close window`.
    if (!line.includes("=")) return suggestOperations(line.trim(), { from: 0, to: line.length }, entries);
    return { items: [], from, to, selectsFirst: false, note: `no operation '${first.text}'` };
  }
  const position = word.text.indexOf("=");
  if (position > 0) return suggestValues(word, position, parameters, entries);
  const usedNames = words.flatMap(({ text }, each) => (each === index ? [] : [text.split("=")[0]]));
  const remaining = parameters.filter(({ name }) => !usedNames.includes(name));
  const items = fuzzyRanked(remaining, word.text, ({ name }) => name).map(
    ({ name, description, required }): Suggestion => ({
      text: `${name}=`,
      label: `${name}=`,
      keys: "",
      kind: "parameter",
      description: required ? `required: ${description}` : description,
    }),
  );
  const note = entries.operations.find(({ name }) => name === first.text)?.description ?? "";
  return { items, from, to, selectsFirst: word.text !== "" && items.length > 0, note };
}

function suggestOperations(
  query: string,
  { from, to }: Pick<Word, "from" | "to">,
  entries: PaletteEntries,
): Completions {
  const matches = fuzzyRanked(
    entries.operations,
    query,
    ({ name }) => name,
    ({ name, description }) => `${name} ${description}`,
  );
  const [word = ""] = query.toLowerCase().split(/\s/);
  const isListedLast = ({ name, ends }: KnownOperation): boolean =>
    ends && name !== word && !(name.split(".").at(-1) ?? "").startsWith(word);
  const inOrder = [...matches.filter((each) => !isListedLast(each)), ...matches.filter(isListedLast)];
  const operations = inOrder.map(
    ({ name, description, keys }): Suggestion => ({ text: name, label: name, description, keys, kind: "operation" }),
  );
  const recent = query === "" ? entries.recent.slice(0, MAX_RECENT) : [];
  const recentLines = recent.map(
    (each): Suggestion => ({ text: each, label: each, description: "", keys: "", kind: "recent" }),
  );
  const items = [...recentLines, ...operations];
  const note = items.length === 0 ? `no operation matches '${query}'` : "";
  return { items, from, to, selectsFirst: query !== "", note };
}

function suggestValues(
  word: Word,
  position: number,
  parameters: readonly KnownParameter[],
  entries: PaletteEntries,
): Completions {
  const name = word.text.slice(0, position);
  const typed = word.text.slice(position + 1);
  const { from, to } = word;
  const parameter = parameters.find((each) => each.name === name);
  if (parameter === undefined) return { items: [], from, to, selectsFirst: false, note: `unknown parameter '${name}'` };
  const { front, last, all } = listValues(parameter, typed, entries);
  const items = fuzzyRanked(
    all,
    last,
    ({ text }) => text,
    ({ description }) => description,
  ).map(
    ({ text, description }): Suggestion => ({
      text: `${name}=${quoteValue(front + text)}`,
      label: text,
      description,
      keys: "",
      kind: "value",
    }),
  );
  const isComplete = typed === "" || all.some(({ text }) => text === last);
  return { items, from, to, selectsFirst: parameter.values.length > 0 && !isComplete, note: parameter.description };
}

/** The values of a parameter; for a list, of its last part. */
function listValues({ name, values }: KnownParameter, typed: string, { targets, keyNames }: PaletteEntries) {
  const listed = values.map((text): NamedTarget => ({ text, description: "" }));
  if (name === "keys") {
    const index = typed.lastIndexOf(",") + 1;
    const all = keyNames.map((text): NamedTarget => ({ text, description: "" }));
    return { front: typed.slice(0, index), last: typed.slice(index), all };
  }
  return { front: "", last: typed, all: targetParameters.has(name) ? [...listed, ...targets] : listed };
}
