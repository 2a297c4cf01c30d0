/**
 * The program that an agent has sent: as input for the interpreter, with lines numbered as the agent numbers them.
 * Pure.
 */

export interface ProgramSource {
  /** The program as JavaScript, if it is JavaScript. */
  readonly javaScript: string;
  /** The line of the program that a stack names, from 1; null: it names none. */
  lineIn(stack: string): number | null;
}

interface Mapped extends ProgramSource {
  /** Lines of the transpiled code; null when the program runs unchanged. */
  transpiled: readonly string[] | null;
}

/** Turns `import … from "wsh"` into the sandbox's global; every line keeps its number. */
export function sourceOf(code: string): ProgramSource {
  const javaScript = code
    .replace(/^([ \t]*)import\s+\{([^}]*)\}\s+from\s+["']wsh["'];?/gm, (_, indent: string, names: string) => {
      return `${indent}const {${names.replace(/\bas\b/g, ":").replace(/\btype\s+\w+\s*,?/g, "")}} = globalThis.wsh;`;
    })
    .replace(/^[ \t]*import\s+(?:\w+|\*\s+as\s+\w+|type\s+\{[^}]*\})\s+from\s+["']wsh["'];?/gm, "");
  const source: Mapped = {
    javaScript,
    transpiled: null,
    lineIn(stack) {
      const [, row] = /\bscript:(\d+)/.exec(stack) ?? [];
      if (row === undefined) return null;
      const { transpiled } = source;
      return transpiled === null ? Number(row) : lineLike(transpiled, Number(row) - 1, javaScript.split("\n"));
    },
  };
  return source;
}

/** The program without its types. @throws when it is not TypeScript either */
export function asJavaScript(source: ProgramSource): string {
  const head = "async function program() {";
  const whole = new Bun.Transpiler({ loader: "ts", target: "browser" }).transformSync(
    `${head}${source.javaScript}\n}\nprogram();`,
  );
  const lines = whole.split("\n");
  // The body, between the first line and the last brace.
  const body = lines.slice(1, lines.lastIndexOf("}"));
  (source as Mapped).transpiled = ["", ...body];
  return `\n${body.join("\n")}`;
}

/** The line near the same place whose words are most similar: types and layout differ. */
function lineLike(lines: readonly string[], at: number, originals: readonly string[]): number | null {
  const wanted = words(lines[at] ?? "");
  let best: { readonly line: number; readonly score: number } | null = null;
  for (const [index, text] of originals.entries()) {
    const own = words(text);
    const common = [...wanted].filter((word) => own.has(word)).length;
    const all = new Set([...wanted, ...own]).size;
    const apart = Math.abs(index / originals.length - at / lines.length);
    const score = all === 0 ? 0 : common / all - apart / 10;
    if (common > 0 && score > (best?.score ?? 0.2)) best = { line: index + 1, score };
  }
  return best?.line ?? null;
}

function words(line: string): Set<string> {
  return new Set(line.match(/[\p{L}\p{N}_$]+/gu) ?? []);
}
