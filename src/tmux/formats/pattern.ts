/** Patterns of tmux's formats and targets: fnmatch(3) and POSIX extended regular expressions. Pure. */

/** Whether a text matches a shell pattern as a whole. */
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
  return compiled(`^(?:${source})$`, isCaseless ? "is" : "s")?.test(text) ?? false;
}

/** An extended regular expression; null where it is none. */
export function extended(pattern: string, isCaseless: boolean): RegExp | null {
  return compiled(pattern.replace(/\[\^?\]?(?:\[:[a-z]+:\]|[^\]])*\]/g, classes), isCaseless ? "is" : "s");
}

function compiled(source: string, flags: string): RegExp | null {
  try {
    return new RegExp(source, flags);
  } catch {
    return null;
  }
}

/** As regsub of tmux: every match is replaced, `\1` is a group; an empty match replaces nothing but at the start. */
export function substitute(text: string, pattern: string, by: string, isCaseless: boolean): string {
  if (text === "") return "";
  const one = extended(pattern, isCaseless);
  if (one === null) return text;
  const all = new RegExp(one.source, `${one.flags}g`);
  return text.replace(all, (...found: unknown[]) => {
    const whole = String(found[0]);
    if (whole === "") return "";
    return by.replace(/\\(\d)/g, (_, group: string) => String(found[Number(group)] ?? ""));
  });
}

function literal(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}

const named: Readonly<Record<string, string>> = {
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

/** A bracket expression as JavaScript writes it: a backslash in it is itself, and `]` first in it too. */
function classes(set: string): string {
  const [, negated = "", inside = ""] = /^\[(\^?)(.*)\]$/s.exec(set) ?? [];
  const parts = inside.replace(/\[:([a-z]+):\]|[\\[\]]/g, (part, name?: string) =>
    name === undefined ? `\\${part}` : (named[name] ?? ""),
  );
  return `[${negated}${parts}]`;
}
