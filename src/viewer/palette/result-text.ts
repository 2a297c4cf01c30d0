/** An operation's answer as text for a person: a field per line, lists below each other, text unchanged. Pure. */

/** Maximum displayed lines of an answer: a longer one is not for reading in a dialog. */
const MAX_LINES = 2_000;

export function resultLines(result: unknown): string[] {
  const lines = formatValue(result, "");
  return lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), "…"] : lines;
}

function formatValue(value: unknown, indent: string): string[] {
  if (value === null || value === undefined) return [`${indent}-`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${indent}none`];
    if (value.every((item) => typeof item === "string")) return value.flatMap((item) => formatValue(item, indent));
    return value.flatMap((item) => {
      const [first = "", ...rest] = formatValue(item, `${indent}  `);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  if (typeof value === "object") {
    return Object.entries(value).flatMap(([name, field]) => {
      const isShort = field === null || typeof field !== "object" || Object.keys(field).length === 0;
      const inner = formatValue(field, isShort ? "" : `${indent}  `);
      if (isShort && inner.length <= 1) return [`${indent}${name}: ${inner[0] ?? ""}`];
      return [`${indent}${name}:`, ...(isShort ? inner.map((line) => `${indent}  ${line}`) : inner)];
    });
  }
  return String(value)
    .split("\n")
    .map((line) => indent + line);
}
