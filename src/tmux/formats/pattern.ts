/**
 * Patterns of tmux's formats and targets: fnmatch(3) and POSIX extended regular expressions. Matching takes time linear
 * in the text: a session's process runs patterns of any caller. Pure.
 */
import { RE2JS } from "re2js";

/** Maximum characters of a text after replacements. */
const MOST = 256 * 1024;

/** Whether the whole text matches a shell pattern. */
export function fnmatch(pattern: string, text: string, isCaseless = false): boolean {
  let source = "";
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i] ?? "";
    if (char === "*") source += ".*";
    else if (char === "?") source += ".";
    else if (char === "[") {
      const [set] = /^\[[!^]?\]?(?:\[:[a-z]+:\]|[^\]])*\]/.exec(pattern.slice(i)) ?? [];
      source += set === undefined ? "\\[" : classes(set.replace(/^\[!/, "[^"));
      i += (set?.length ?? 1) - 1;
    } else if (char === "\\" && i + 1 < pattern.length) source += literal(pattern[++i] ?? "");
    else source += literal(char);
  }
  return compiled(source, isCaseless)?.matches(text) ?? false;
}

/** The test of an extended regular expression; null if it is invalid. */
export function extended(pattern: string, isCaseless: boolean): ((text: string) => boolean) | null {
  const regex = expression(pattern, isCaseless);
  return regex && ((text) => regex.matcher(text).find());
}

function expression(pattern: string, isCaseless: boolean): RE2JS | null {
  return compiled(pattern.replace(/\[\^?\]?(?:\[:[a-z]+:\]|[^\]])*\]/g, classes), isCaseless);
}

function compiled(source: string, isCaseless: boolean): RE2JS | null {
  try {
    return RE2JS.compile(source, RE2JS.DOTALL | (isCaseless ? RE2JS.CASE_INSENSITIVE : 0));
  } catch {
    return null;
  }
}

/** Like tmux's regsub: replaces every match; `\1` is a group; an empty match is left unchanged. */
export function substitute(text: string, pattern: string, by: string, isCaseless: boolean): string {
  const matcher = text === "" ? null : expression(pattern, isCaseless)?.matcher(text);
  if (matcher == null) return text;
  let [out, from] = ["", 0];
  while (out.length < MOST && matcher.find()) {
    if (matcher.end() === matcher.start()) continue;
    const group = (digit: string): string =>
      Number(digit) > matcher.groupCount() ? "" : (matcher.group(Number(digit)) ?? "");
    out += text.slice(from, matcher.start()) + by.replace(/\\(\d)/g, (_, digit: string) => group(digit));
    from = matcher.end();
  }
  return out + text.slice(from);
}

function literal(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}

const characterClasses: Readonly<Record<string, string>> = {
  alpha: "A-Za-z",
  digit: "0-9",
  alnum: "A-Za-z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  blank: " \\t",
  punct: "!-\\/:-@\\[-`{-~",
  xdigit: "0-9A-Fa-f",
  print: " -~",
  graph: "!-~",
  cntrl: "\\0-\\x1f\\x7f",
};

/** Converts a bracket expression to JavaScript's syntax: a backslash is literal, and so is a leading `]`. */
function classes(set: string): string {
  const [, negated = "", inside = ""] = /^\[(\^?)(.*)\]$/s.exec(set) ?? [];
  const parts = inside.replace(/\[:([a-z]+):\]|[\\[\]]/g, (part, name?: string) =>
    name === undefined ? `\\${part}` : (characterClasses[name] ?? ""),
  );
  return `[${negated}${parts}]`;
}
