/** The folders of src are layers: imports point down, siblings import nothing of each other (see docs/architecture.md, Layers). */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { circles, importGraph } from "./support/import-graph.ts";

const root = join(import.meta.dir, "..");
const src = join(root, "src");

/** Imports of each folder besides itself, ground first: no folder may import more, and none is allowed more than it does. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: [],
  keys: ["protocol"],
  operations: ["protocol", "keys"],
  platform: ["base", "protocol"],
  shell: ["protocol"],
  terminal: ["protocol"],
  client: ["protocol", "operations"],
  compositor: ["protocol", "terminal"],
  instance: ["base", "protocol", "platform"],
  pty: ["base", "protocol", "platform"],
  web: ["protocol", "keys"],
  wire: ["base", "protocol", "platform"],
  attach: ["protocol", "keys", "platform", "terminal", "wire"],
  events: ["protocol", "platform", "instance"],
  pane: ["base", "protocol", "platform", "shell", "terminal", "pty"],
  script: ["protocol", "client"],
  receipts: ["protocol", "platform"],
  secrets: ["base", "protocol", "instance"],
  registry: ["base", "protocol", "platform", "instance", "wire", "events", "secrets"],
  session: ["base", "protocol", "keys", "compositor", "instance", "pty", "pane"],
  log: ["protocol", "platform", "instance", "secrets", "registry"],
  launch: ["base", "protocol", "platform", "instance", "registry", "log"],
  settings: ["base", "protocol", "platform", "keys", "instance", "log"],
  checkpoints: [
    "base",
    "protocol",
    "operations",
    "platform",
    "shell",
    "terminal",
    "instance",
    "pty",
    "wire",
    "pane",
    "registry",
    "session",
    "log",
    "launch",
    "settings",
  ],
  cluster: ["base", "protocol", "operations", "platform", "instance", "wire", "registry", "launch"],
  history: ["protocol", "operations", "platform", "instance", "events", "launch"],
  mcp: ["base", "protocol", "operations", "platform", "instance", "wire", "registry", "launch"],
  tmux: [
    "protocol",
    "keys",
    "operations",
    "platform",
    "shell",
    "instance",
    "wire",
    "events",
    "registry",
    "launch",
    "settings",
  ],
  viewer: [
    "base",
    "protocol",
    "keys",
    "operations",
    "platform",
    "terminal",
    "compositor",
    "instance",
    "wire",
    "events",
    "registry",
    "session",
    "launch",
    "settings",
  ],
  endpoint: [
    "base",
    "protocol",
    "keys",
    "operations",
    "platform",
    "compositor",
    "wire",
    "session",
    "log",
    "settings",
    "viewer",
  ],
  server: [
    "base",
    "protocol",
    "operations",
    "platform",
    "instance",
    "wire",
    "events",
    "secrets",
    "registry",
    "log",
    "launch",
    "settings",
    "checkpoints",
    "cluster",
    "history",
    "mcp",
  ],
  "session-process": [
    "base",
    "protocol",
    "keys",
    "operations",
    "platform",
    "shell",
    "terminal",
    "compositor",
    "instance",
    "pty",
    "wire",
    "events",
    "pane",
    "registry",
    "session",
    "log",
    "launch",
    "settings",
    "checkpoints",
    "cluster",
    "history",
    "tmux",
    "viewer",
    "endpoint",
    "secrets",
    "receipts",
  ],
};

function layerOf(file: string): string {
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : "";
}

test("imports point down the layers, and the layers are as tight as possible", async () => {
  const crossing = (await importGraph(src)).filter(({ from, to }) => {
    const [a, b] = [layerOf(from), layerOf(to)];
    return a !== b && a !== "" && a !== "cli" && !to.startsWith("..");
  });
  const wrong = crossing.filter(({ from, to }) => !(allowed[layerOf(from)] ?? []).includes(layerOf(to)));
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`).sort()).toEqual([]);
  const used = new Set(crossing.map(({ from, to }) => `${layerOf(from)} ${layerOf(to)}`));
  const unused = Object.entries(allowed).flatMap(([from, tos]) =>
    tos.map((to) => `${from} ${to}`).filter((pair) => !used.has(pair)),
  );
  expect(unused).toEqual([]);
});

test("pane, session and compositor do not depend on a transport", async () => {
  for await (const file of new Bun.Glob("{pane,session,compositor}/**/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    expect(text).not.toMatch(/from "(hono|@modelcontextprotocol|node:net|node:http)/);
    expect(text).not.toMatch(/Bun\.(serve|listen|connect)\(/);
  }
});

test("only src/platform reads /proc", async () => {
  for await (const file of new Bun.Glob("**/*.{ts,tsx}").scan(src)) {
    if (file.startsWith("platform/")) continue;
    expect([file, (await Bun.file(join(src, file)).text()).match(/["'`]\/proc\b/)]).toEqual([file, null]);
  }
});

test("protocol and operations do no input or output", async () => {
  for await (const file of new Bun.Glob("{protocol,operations}/**/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    expect(text).not.toMatch(/from "node:(fs|net|http|child_process)|Bun\.(serve|listen|connect|spawn|file|write)\b/);
  }
});

test("the gateway, the attach client and a session never load the emulator", async () => {
  const graph = (await importGraph(src)).filter(({ dynamic }) => !dynamic);
  for (const start of ["server/main.ts", "attach/attach.ts", "session/session.ts"]) {
    const seen = new Set([start]);
    for (const file of seen) {
      for (const { from, to } of graph) if (from === file) seen.add(to);
    }
    expect([...seen]).not.toContain("terminal/model.ts");
  }
});

test("a session loads none of the modules that would cost it a megabyte", async () => {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const files = new Set([join(src, "session-process/main.ts")]);
  const modules = new Set<string>();
  for (const file of files) {
    for (const { kind, path } of transpiler.scanImports(await Bun.file(file).text())) {
      if (kind !== "import-statement") continue;
      if (path.startsWith(".") && path.endsWith(".ts")) files.add(join(file, "..", path));
      else if (path.includes(":")) modules.add(path);
    }
  }
  expect([...modules].sort()).toEqual(["bun:ffi", "node:fs", "node:os", "node:path"]);
});

/** Lines of the longest file. */
const MAX_LINES = 440;

test("no file imports itself through others", async () => {
  expect(circles(await importGraph(src))).toEqual([]);
  for (const folder of ["bench", "scripts", "tests"])
    expect(circles(await importGraph(join(root, folder)))).toEqual([]);
});

test("no file of src is too long", async () => {
  const long: string[] = [];
  for await (const file of new Bun.Glob("**/*.{ts,tsx}").scan(src)) {
    const lines = (await Bun.file(join(src, file)).text()).split("\n").length - 1;
    if (lines > MAX_LINES) long.push(`${file}: ${lines} lines`);
  }
  expect(long).toEqual([]);
});

test("one file detects the system on which wsh runs; differences between systems are in src/platform", async () => {
  const asking: string[] = [];
  for await (const file of new Bun.Glob("**/*.ts").scan(src)) {
    const text = await Bun.file(join(src, file)).text();
    if (/process\.platform|\bos\.platform\(/.test(text)) asking.push(file);
  }
  expect(asking).toEqual(["platform/system.ts"]);
});

/** Documents that are not in this repository. */
const elsewhere = /contract §|\bthe contract\b|design §|design\.md|(?<!mcp-)tools\.md|panes\.md|platform\.md/;
test("nothing points at a document outside the repository", async () => {
  const pointing: string[] = [];
  const own = "tests/layering.test.ts";
  for (const pattern of ["{src,tests,bench,scripts,packaging,docs,skills}/**/*", "*.{ts,md}"]) {
    for await (const file of new Bun.Glob(pattern).scan(root)) {
      if (file === own || file.startsWith("tests/fixtures/")) continue;
      const text = await Bun.file(join(root, file)).text();
      if (elsewhere.test(text)) pointing.push(file);
    }
  }
  expect(pointing).toEqual([]);
});

test("docs/architecture.md lists the folders of src, each above all its imports", async () => {
  const text = await Bun.file(join(root, "docs/architecture.md")).text();
  const rows = [...text.matchAll(/^\| (\d+) \| `([a-z-]+)` \| /gm)];
  const levels = new Map(rows.map(([, level, folder]) => [folder ?? "", Number(level)]));
  const folders = readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect([...levels.keys()].sort()).toEqual(folders.map(({ name }) => name).sort());
  const order = [...levels.values()];
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  const upward = Object.entries(allowed).flatMap(([from, tos]) =>
    tos.filter((to) => (levels.get(to) ?? 0) >= (levels.get(from) ?? 0)).map((to) => `${from} imports ${to}`),
  );
  expect(upward).toEqual([]);
});
