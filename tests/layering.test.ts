/** The folders of src are layers: imports point down, siblings import nothing of each other (see docs/architecture.md, Layers). */
import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";

const src = join(import.meta.dir, "../src");

/** What each folder imports besides itself, ground first: no folder may import more, and none is allowed more than it does. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: [],
  operations: ["protocol"],
  platform: ["base", "protocol"],
  wire: ["base", "protocol", "platform"],
  instance: ["base", "protocol", "platform"],
  keys: ["protocol"],
  pty: ["protocol", "platform"],
  terminal: ["protocol"],
  shell: ["protocol"],
  pane: ["base", "protocol", "platform", "pty", "terminal", "shell"],
  compositor: ["protocol", "terminal"],
  session: ["base", "protocol", "keys", "pty", "terminal", "shell", "pane", "compositor"],
  host: [
    ...["base", "protocol", "operations", "platform", "wire", "instance", "keys", "pty", "terminal", "shell", "pane"],
    ...["compositor", "session"],
  ],
  attach: ["protocol", "platform", "wire", "keys"],
  mcp: ["protocol", "operations", "wire", "instance"],
  client: ["protocol", "operations"],
  server: ["protocol", "operations", "platform", "wire", "instance", "mcp"],
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

/** Imports against the layers that are left. */
const known: readonly string[] = ["pane/pane.ts imports session/types.ts"];

test("imports point down the layers, and the layers are as tight as they can be", async () => {
  const crossing = (await importGraph()).filter(({ from, to }) => {
    const [a, b] = [layerOf(from), layerOf(to)];
    return a !== b && a !== "" && a !== "cli" && !to.startsWith("..");
  });
  const wrong = crossing.filter(({ from, to }) => !(allowed[layerOf(from)] ?? []).includes(layerOf(to)));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`).sort()).toEqual([...known].sort());
  const used = new Set(crossing.map(({ from, to }) => `${layerOf(from)} ${layerOf(to)}`));
  const unused = Object.entries(allowed).flatMap(([from, tos]) =>
    tos.map((to) => `${from} ${to}`).filter((pair) => !used.has(pair)),
  );
  expect(unused).toEqual([]);
});

test("pane, session and compositor know no transport", async () => {
  for await (const file of new Bun.Glob("{pane,session,compositor}/**/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    expect(text).not.toMatch(/from "(hono|@modelcontextprotocol|node:net|node:http)/);
    expect(text).not.toMatch(/Bun\.(serve|listen|connect)\(/);
  }
});

test("protocol and operations do no input or output", async () => {
  for await (const file of new Bun.Glob("{protocol,operations}/**/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    expect(text).not.toMatch(/from "node:(fs|net|http|child_process)|Bun\.(serve|listen|connect|spawn|file|write)\b/);
  }
});

test("the gateway and the attach client never load the emulator", async () => {
  const graph = (await importGraph()).filter(({ dynamic }) => !dynamic);
  for (const start of ["server/main.ts", "attach/attach.ts"]) {
    const seen = new Set([start]);
    for (const file of seen) {
      for (const { from, to } of graph) if (from === file) seen.add(to);
    }
    expect([...seen]).not.toContain("terminal/model.ts");
  }
});
