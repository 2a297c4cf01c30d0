/** The folders of src are layers: imports point down, siblings import nothing of each other (see docs/architecture.md, Layers). */
import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";

const src = join(import.meta.dir, "../src");

/** What each folder may import besides itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  operations: ["protocol"],
  instance: ["protocol"],
  client: ["operations", "protocol"],
  pty: ["operations", "instance", "protocol"],
  terminal: ["operations", "instance", "protocol"],
  shell: ["operations", "instance", "protocol"],
  session: ["terminal", "pty", "shell", "operations", "instance", "protocol"],
  host: ["session", "terminal", "pty", "shell", "operations", "instance", "protocol"],
  attach: ["session", "terminal", "pty", "shell", "operations", "instance", "protocol"],
  mcp: ["session", "terminal", "pty", "shell", "operations", "instance", "protocol"],
  server: ["mcp", "session", "terminal", "pty", "shell", "operations", "instance", "protocol"],
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly dynamic: boolean;
}

async function importGraph(): Promise<Import[]> {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const graph: Import[] = [];
  for await (const file of new Bun.Glob("**/*.ts").scan(src)) {
    if (file.endsWith(".d.ts")) continue;
    const path = join(src, file);
    // scanImports does not read past a "#!" line.
    const text = (await Bun.file(path).text()).replace(/^#!.*/, "");
    // Types count too: scanImports leaves them out, so they are read from the text.
    const typed = [...text.matchAll(/^(?:import|export) [^"']*?from "(\.[^"]+)"/gms)].map((match) => match[1]);
    const scanned = transpiler.scanImports(text).filter((entry) => entry.path.startsWith("."));
    const dynamic = new Set(scanned.filter((entry) => entry.kind === "dynamic-import").map((entry) => entry.path));
    for (const to of new Set([...typed, ...scanned.map((entry) => entry.path)])) {
      if (to === undefined) continue;
      graph.push({ from: file, to: relative(src, join(dirname(path), to)), dynamic: dynamic.has(to) });
    }
  }
  return graph;
}

function layerOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
}

test("imports point down the layers", async () => {
  const wrong = (await importGraph()).filter(({ from, to }) => {
    const [a, b] = [layerOf(from), layerOf(to)];
    if (a === b || a === "" || a === "cli" || to.startsWith("..")) return false;
    return !(allowed[a] ?? []).includes(b);
  });
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
});

test("session knows no transport", async () => {
  for await (const file of new Bun.Glob("session/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    expect(text).not.toMatch(/from "(hono|@modelcontextprotocol|node:net|node:http)/);
    expect(text).not.toMatch(/Bun\.(serve|listen|connect)\(/);
  }
});

test("protocol and operations do no input or output", async () => {
  for await (const file of new Bun.Glob("{protocol,operations}/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    expect(text).not.toMatch(/from "node:(fs|net|http|child_process)|Bun\.(serve|listen|connect|spawn|file|write)\b/);
  }
});

test("the gateway and the attach client never load the emulator", async () => {
  const graph = (await importGraph()).filter(({ dynamic }) => !dynamic);
  for (const start of ["server/main.ts", "attach/client.ts"]) {
    const seen = new Set([start]);
    for (const file of seen) {
      for (const { from, to } of graph) if (from === file) seen.add(to);
    }
    expect([...seen]).not.toContain("terminal/model.ts");
  }
});
