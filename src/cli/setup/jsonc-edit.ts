/**
 * Changes a value in a text of JSON with comments, and no other byte: unchanged parts keep their bytes and comments,
 * down to single items of lists. Changes are made one after another, each found by comparing the text's tree with the
 * wanted value. A comment stays unless it is within a removed or replaced part. Pure.
 */
import { getNodeValue, type Node, parseTree } from "jsonc-parser";
import { isRecord } from "../../protocol/json.ts";

/** Hosts that read these files accept comments and trailing commas, and so do we. */
export const PARSE_OPTIONS = { allowTrailingComma: true, disallowComments: false, allowEmptyContent: true } as const;

/** Blanks and whole comments up to the end of a line. */
const restOfLine = /^(?:[ \t\r]|\/\*(?:(?!\*\/).)*\*\/)*(?:\/\/.*)?$/;
/** Blanks and comments. */
const blanks = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*)*/y;

interface Edit {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly text: string;
}

/** The layout of new lines. */
interface Style {
  readonly unit: string;
  readonly eol: string;
}

/** @param path keys of objects, of which the last may be missing @param value undefined: the key is removed */
export function editedAt(text: string, path: readonly string[], value: unknown): string {
  const style: Style = { unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ", eol: text.includes("\r\n") ? "\r\n" : "\n" };
  let result = text.trim() === "" ? `{}${style.eol}` : text;
  for (;;) {
    const root = parseTree(withoutMark(result), [], PARSE_OPTIONS);
    const edits = root === undefined ? [] : nextAt(result, root, path, value, style);
    if (edits.length === 0) return result;
    for (const { startOffset, endOffset, text: put } of [...edits].sort((a, b) => b.startOffset - a.startOffset)) {
      result = result.slice(0, startOffset) + put + result.slice(endOffset);
    }
  }
}

function nextAt(text: string, node: Node, path: readonly string[], value: unknown, style: Style): Edit[] {
  const [key, ...rest] = path;
  if (key === undefined) return nextEdits(text, node, value, style);
  const property = (node.children ?? []).find(({ children }) => children?.[0]?.value === key);
  const child = property?.children?.[1];
  if (property === undefined || child === undefined) {
    if (value === undefined) return [];
    return insertEdits(
      text,
      node,
      key,
      rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value),
      style,
    );
  }
  if (rest.length === 0 && value === undefined) return removeEdits(text, node, property);
  return nextAt(text, child, rest, value, style);
}

/** The next change towards the wanted value; none when they are equal. */
function nextEdits(text: string, node: Node, wanted: unknown, style: Style): Edit[] {
  if (Bun.deepEquals(getNodeValue(node), wanted)) return [];
  if (node.type === "object" && isRecord(wanted)) {
    for (const property of node.children ?? []) {
      const [name, child] = property.children ?? [];
      if (name === undefined || child === undefined) continue;
      if (!Object.hasOwn(wanted, name.value)) return removeEdits(text, node, property);
      const edits = nextEdits(text, child, wanted[name.value], style);
      if (edits.length > 0) return edits;
    }
    const keys = new Set((node.children ?? []).map(({ children }) => children?.[0]?.value));
    const key = Object.keys(wanted).find((name) => !keys.has(name));
    return key === undefined ? [] : insertEdits(text, node, key, wanted[key], style);
  }
  if (node.type === "array" && Array.isArray(wanted)) return nextInList(text, node, wanted, style);
  return [replaced(text, node, wanted, style)];
}

function nextInList(text: string, list: Node, wanted: readonly unknown[], style: Style): Edit[] {
  const items = list.children ?? [];
  const values = items.map((item): unknown => getNodeValue(item));
  for (const [index, item] of items.entries()) {
    const value = wanted[index];
    if (index < wanted.length && Bun.deepEquals(values[index], value)) continue;
    // The item is removed if the wanted item follows it, or if nothing should be here; otherwise it is changed.
    const isBehind = values.slice(index + 1).some((later) => Bun.deepEquals(later, value));
    return index >= wanted.length || isBehind ? removeEdits(text, list, item) : nextEdits(text, item, value, style);
  }
  return insertEdits(text, list, null, wanted[items.length], style);
}

/** Replaces a value: on one line if the old one was, and the new one is not an object. */
function replaced(text: string, node: Node, value: unknown, style: Style): Edit {
  const old = text.slice(node.offset, end(node));
  const isShort = !old.includes("\n") && !isRecord(value);
  return {
    startOffset: node.offset,
    endOffset: end(node),
    text: isShort ? inline(value) : block(value, indentAt(text, node.offset), style),
  };
}

/** Adds a property, or an item (key null), after the last one. */
function insertEdits(text: string, holder: Node, key: string | null, value: unknown, style: Style): Edit[] {
  const name = key === null ? "" : `${JSON.stringify(key)}: `;
  const last = holder.children?.at(-1);
  const base = indentAt(text, holder.offset);
  if (last === undefined) {
    const inside = text.slice(holder.offset + 1, end(holder) - 1);
    const isBlank = inside.trim() === "";
    const put = style.eol + base + style.unit + name + block(value, base + style.unit, style);
    const to = isBlank ? end(holder) - 1 : holder.offset + 1;
    return [{ startOffset: holder.offset + 1, endOffset: to, text: isBlank ? put + style.eol + base : put }];
  }
  const comma = commaAfter(text, last);
  const behind = comma === null ? end(last) : comma + 1;
  if (!text.slice(holder.offset, end(holder)).includes("\n")) {
    const put = ` ${name}${inline(value)}`;
    return [{ startOffset: behind, endOffset: behind, text: comma === null ? `,${put}` : `${put},` }];
  }
  const lead = indentAt(text, last.offset);
  const from = lineEnd(text, behind, holder);
  // A comment between the last item and the end of its line stays with that item.
  const inserted = `${style.eol}${lead}${name}${block(value, lead, style)}`;
  if (comma !== null) return [{ startOffset: from, endOffset: from, text: `${inserted},` }];
  if (from === end(last)) return [{ startOffset: from, endOffset: from, text: `,${inserted}` }];
  return [
    { startOffset: end(last), endOffset: end(last), text: "," },
    { startOffset: from, endOffset: from, text: inserted },
  ];
}

/** The end of a position's line, including its comments; the position itself if more follows on the line. */
function lineEnd(text: string, from: number, holder: Node): number {
  const newline = text.indexOf("\n", from);
  if (newline === -1 || newline >= end(holder)) return from;
  const to = text[newline - 1] === "\r" ? newline - 1 : newline;
  return restOfLine.test(text.slice(from, to)) ? to : from;
}

/** Removes a property or an item, its comma, and its lines if nothing else is on them. */
function removeEdits(text: string, holder: Node, child: Node): Edit[] {
  const siblings = holder.children ?? [];
  const index = siblings.indexOf(child);
  if (siblings.length === 1 && isBare(text, holder, child)) {
    return [{ startOffset: holder.offset + 1, endOffset: end(holder) - 1, text: "" }];
  }
  const comma = commaAfter(text, child);
  const before = siblings[index - 1];
  const beforeComma = comma === null && before !== undefined ? commaAfter(text, before) : null;
  const edits: Edit[] = [];
  if (beforeComma !== null) edits.push({ startOffset: beforeComma, endOffset: beforeComma + 1, text: "" });
  // With a comment between the two, the comma is removed separately.
  const isNext = comma !== null && text.slice(end(child), comma).trim() === "";
  if (comma !== null && !isNext) edits.push({ startOffset: comma, endOffset: comma + 1, text: "" });
  const to = isNext && comma !== null ? comma + 1 : end(child);
  const least = beforeComma === null ? holder.offset + 1 : beforeComma + 1;
  return [...edits, withSpace(text, child.offset, to, least, comma !== null)];
}

/** Widens the range to whole lines, or to the blanks on one side. */
function withSpace(text: string, from: number, to: number, least: number, isFollowed: boolean): Edit {
  let start = from;
  while (start > least && /[ \t]/.test(text[start - 1] ?? "")) start--;
  let stop = to;
  while (/[ \t]/.test(text[stop] ?? "")) stop++;
  const endsLine = /^\r?\n/.exec(text.slice(stop, stop + 2))?.[0];
  if (text[start - 1] === "\n" && endsLine !== undefined)
    return { startOffset: start, endOffset: stop + endsLine.length, text: "" };
  if (text[start - 1] === "\n" || isFollowed) return { startOffset: from, endOffset: stop, text: "" };
  return { startOffset: start, endOffset: to, text: "" };
}

/** Whether the holder contains only the child and perhaps its comma. */
function isBare(text: string, holder: Node, child: Node): boolean {
  const before = text.slice(holder.offset + 1, child.offset);
  const after = text.slice(end(child), end(holder) - 1);
  return before.trim() === "" && /^\s*,?\s*$/.test(after);
}

/** The comma that follows a child; null without one. */
function commaAfter(text: string, child: Node): number | null {
  blanks.lastIndex = end(child);
  const at = end(child) + (blanks.exec(text)?.[0].length ?? 0);
  return text[at] === "," ? at : null;
}

function end({ offset, length }: Node): number {
  return offset + length;
}

/** The blanks at the beginning of the line of an offset. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

/** A value over several lines, the first of which continues the current line. */
function block(value: unknown, indent: string, { unit, eol }: Style): string {
  return JSON.stringify(value, null, unit)
    .split("\n")
    .join(eol + indent);
}

/** A value on one line. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const inner = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${inline(each)}`);
  return inner.length === 0 ? "{}" : `{ ${inner.join(", ")} }`;
}

/**
 * Replaces a byte order mark, which the parser must not see, by a blank of the same length, so that offsets agree. The
 * text keeps the mark.
 */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
}
