/** Imports between the files of a folder, read from the text: types and `import()` count, packages do not. */
import { dirname, join, relative } from "node:path";

export interface Import {
  /** Path relative to the folder; so is `to`. */
  readonly from: string;
  readonly to: string;
  readonly dynamic: boolean;
}

export async function importGraph(folder: string): Promise<Import[]> {
  const transpilers = { ts: new Bun.Transpiler({ loader: "ts" }), tsx: new Bun.Transpiler({ loader: "tsx" }) };
  const graph: Import[] = [];
  for await (const file of new Bun.Glob("**/*.{ts,tsx}").scan(folder)) {
    if (file.endsWith(".d.ts")) continue;
    const path = join(folder, file);
    // scanImports does not read past a "#!" line.
    const text = (await Bun.file(path).text()).replace(/^#!.*/, "");
    // Types count too: scanImports leaves them out, so they are read from the text.
    const typed = [...text.matchAll(/^(?:import|export) [^"']*?from "(\.[^"]+)"/gms)].map((match) => match[1]);
    const transpiler = transpilers[file.endsWith("x") ? "tsx" : "ts"];
    const scanned = transpiler.scanImports(text).filter((entry) => entry.path.startsWith("."));
    const dynamic = new Set(scanned.filter((entry) => entry.kind === "dynamic-import").map((entry) => entry.path));
    for (const to of new Set([...typed, ...scanned.map((entry) => entry.path)])) {
      if (to === undefined) continue;
      graph.push({ from: file, to: relative(folder, join(dirname(path), to)), dynamic: dynamic.has(to) });
    }
  }
  return graph;
}

/** Files that import themselves through others, each cycle sorted (Tarjan's strongly connected components). */
export function circles(graph: readonly Import[]): string[][] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of graph) targets.set(from, [...(targets.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const open: string[] = [];
  const found: string[][] = [];

  /** @returns the earliest open file that is reachable from `file` */
  function visit(file: string): number {
    const own = order.size;
    order.set(file, own);
    open.push(file);
    let earliest = own;
    for (const to of targets.get(file) ?? []) {
      const seen = order.get(to);
      if (seen === undefined) earliest = Math.min(earliest, visit(to));
      else if (open.includes(to)) earliest = Math.min(earliest, seen);
    }
    if (earliest === own) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) found.push(circle.sort());
    }
    return earliest;
  }

  for (const file of targets.keys()) if (!order.has(file)) visit(file);
  return found;
}
