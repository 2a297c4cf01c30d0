/** The documents agree with the code's tables on operations, errors, tools and keys; links resolve. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { generated, withGenerated } from "../../scripts/docs.ts";
import { defaultBindings } from "../../src/keys/bindings.ts";
import { parseBindings } from "../../src/keys/configured.ts";
import { parseKeyName } from "../../src/keys/parse-name.ts";
import { defaultPrefix, handleKeyEvent, parsePrefix } from "../../src/keys/prefix.ts";
import { KeyTables } from "../../src/keys/tables.ts";
import type { InputEvent } from "../../src/keys/types.ts";
import { isViewOperation, viewOperationNames } from "../../src/keys/view-operations.ts";
import { tools } from "../../src/mcp/tools/tools.ts";
import { parseInput } from "../../src/operations/call.ts";
import { findOperation, operations } from "../../src/operations/table.ts";
import { ExecStateSchema } from "../../src/protocol/commands.ts";
import { simpleConditions } from "../../src/protocol/conditions.ts";
import { errorCodes } from "../../src/protocol/errors.ts";
import { eventNames, LifecycleEventSchema, SessionEventSchema } from "../../src/protocol/events.ts";
import { SessionStateSchema } from "../../src/protocol/session.ts";
import { settingNames } from "../../src/settings/table.ts";

const root = join(import.meta.dir, "../..");
const read = (file: string): string => fs.readFileSync(join(root, file), "utf8");
/** The words in backticks. */
const quoted = (text: string): Set<string> => new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code));
const section = (text: string, heading: string): string => {
  const from = text.indexOf(`\n${heading}\n`);
  expect(from).toBeGreaterThan(0);
  const level = heading.indexOf(" ");
  const end = new RegExp(`^#{1,${level}} `, "m").exec(text.slice(from + heading.length + 2));
  return text.slice(from, end === null ? undefined : from + heading.length + 2 + end.index);
};

test.each(Object.keys(generated))(
  "the tables of %s are those of the code (bun scripts/docs.ts writes them)",
  (file) => {
    expect(read(file)).toBe(withGenerated(file, read(file)));
  },
);

describe("the prose of docs/protocol.md names", () => {
  const protocol = read("docs/protocol.md");

  test("every state and condition", () => {
    const states = quoted(section(protocol, "### States"));
    expect(SessionStateSchema.options.filter((state) => !states.has(state))).toEqual([]);
    const conditions = quoted(section(protocol, "### Conditions"));
    expect(simpleConditions.filter((condition) => !conditions.has(condition))).toEqual([]);
    const outcomes = quoted(section(protocol, "## Commands"));
    expect(ExecStateSchema.options.filter((state) => !outcomes.has(state))).toEqual([]);
  });

  test("every subscription and every event", () => {
    const events = quoted(section(protocol, "### Events"));
    const sent = [...SessionEventSchema.options, ...LifecycleEventSchema.options].map(
      ({ entries }) => entries.event.literal,
    );
    expect([...eventNames, ...sent].filter((name) => !events.has(name))).toEqual([]);
  });

  test("only errors, operations and settings that exist", () => {
    const known = new Set<string>([...errorCodes, ...settingNames, ...operations.flatMap(({ ws }) => ws)]);
    const limits = [...quoted(section(protocol, "## Limits"))].filter((word) => /^[a-z]+(_[a-z]+)+$/.test(word));
    expect(limits.filter((word) => !known.has(word))).toEqual([]);
  });
});

test("tools that README, docs and CONTRIBUTING name exist", () => {
  const known = new Set(tools.map(({ name }) => name));
  for (const file of ["README.md", "docs/mcp-tools.md", "docs/keys.md", "docs/protocol.md"]) {
    const named = [...read(file).matchAll(/\bwsh_[a-z]+(?:_[a-z]+)*/g)].map(([name]) => name);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  }
});

test("the README counts the tools", () => {
  expect(read("README.md")).toContain(`${tools.length === 18 ? "Eighteen" : tools.length} tools; these are used most`);
});

test("docs/architecture.md names the dependencies, and no others", () => {
  const packages = /^(@[a-z]+\/)?[a-z0-9]+(-[a-z0-9]+)*$/;
  const named = quoted(section(read("docs/architecture.md"), "## Dependencies"));
  const used = Object.keys(manifest.dependencies);
  expect(used.filter((name) => !named.has(name))).toEqual([]);
  expect([...named].filter((name) => packages.test(name) && !used.includes(name))).toEqual([]);
});

describe("docs/keys.md", () => {
  const keys = read("docs/keys.md");
  const typed = (name: string): InputEvent => ({
    kind: "key",
    raw: new TextEncoder().encode(name),
    parsed: name === "prefix" ? defaultPrefix.key : { key: name, modifiers: [] },
  });
  /** Effect of the second key after the prefix. */
  const after = (name: string, captured = false): string => {
    const context = {
      captured,
      prefix: defaultPrefix,
      tables: new KeyTables({}),
      repeatMs: 500,
      acceptsRootKeys: true,
      now: 0,
    };
    const first = handleKeyEvent(null, typed("prefix"), context);
    if (captured) return first.action.type;
    const { action } = handleKeyEvent(first.state, typed(name), context);
    return action.type === "forward" ? new TextDecoder().decode(action.raw) : action.type;
  };

  test("the prefix does what the table says", () => {
    const rows = [...section(keys, "## In a session").matchAll(/^\| (prefix.*) \| (.*) \|$/gm)];
    expect(rows.map(([, press]) => press)).toEqual([
      "prefix, prefix",
      "prefix, and nothing for 0.4 seconds",
      "prefix, a key of the table below",
      "prefix, any other key",
      "prefix, while an agent captures the keyboard",
      "prefix, after you took a program over for an agent",
    ]);
    expect([after("prefix"), after("?"), after("\\"), after("y"), after("", true)]).toEqual([
      "detach",
      "bound",
      "prefix",
      "unbound",
      "release",
    ]);
  });

  test("every key of the table is bound to an existing operation with valid input", () => {
    for (const { operation, input } of defaultBindings.values()) {
      if (isViewOperation(operation)) continue;
      const found = findOperation(operation);
      if (found === undefined) throw new Error(`there is no operation ${operation}`);
      expect(parseInput(found, input)).toMatchObject(input);
    }
    expect([...quoted(keys)].filter((word) => word.startsWith("view.")).toSorted()).toEqual(
      viewOperationNames.toSorted(),
    );
  });

  test("every example of a name is valid", () => {
    const examples = [...quoted(section(keys, "## Names of keys"))].filter((word) => /^[A-Z^][A-Za-z-+^]*$/.test(word));
    expect(examples.length).toBeGreaterThan(20);
    for (const example of examples) expect(parseKeyName(example)).toBeDefined();
    for (const example of ["C-a", "Ctrl+]", "Alt+x"]) expect(parsePrefix(example)).not.toBeNull();
    for (const twin of ["Ctrl+I", "Ctrl+M", "Ctrl+["]) expect(() => parsePrefix(twin)).toThrow();
  });
});

describe("docs/coming-from-tmux.md", () => {
  const text = read("docs/coming-from-tmux.md");
  const name = (key: string): string =>
    Object.keys(
      parseBindings([{ key, value: "none", path: "", line: 1 }], {
        readCall: (line) => ({ ...line, input: {} }),
        check: () => {},
      }),
    )[0] ?? "";

  test("every shared key is bound to the operation that the page names", () => {
    const rows = [...section(text, "## Keys").matchAll(/^\| (`.*?`) \| .* \| the same: `([a-z_.]+)`.* \|$/gm)];
    expect(rows.length).toBeGreaterThan(15);
    for (const [, keys = "", operation = ""] of rows) {
      for (const key of keys.split(" ")) {
        const bound = defaultBindings.get(name(key.slice(1, -1)));
        expect(`${key} ${bound?.operation}`).toBe(`${key} ${operation}`);
      }
    }
  });

  test("every key of the table that tmux has is on the page", () => {
    const ours = ["|", "-", "\\", "a", "V"];
    const named = new Set(
      [...section(text, "## Keys").matchAll(/`([^`]+)`/g)].flatMap(([, key = ""]) => (isKey(key) ? name(key) : [])),
    );
    expect([...defaultBindings.keys()].filter((key) => !named.has(key) && !ours.includes(key))).toEqual([]);
  });
});

function isKey(text: string): boolean {
  try {
    return parseKeyName(text) !== undefined;
  } catch {
    return false;
  }
}

/** A heading's anchor as GitHub makes it. */
function anchors(markdown: string): Set<string> {
  const headings = [...markdown.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#{1,6} (.*)$/gm)];
  return new Set(
    headings.map(([, text = ""]) =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .trim()
        .replace(/ /g, "-"),
    ),
  );
}

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "AGENTS.md",
  "tests/README.md",
].concat(
  fs
    .readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
);

test.each(documents)("links of %s resolve", (file) => {
  const broken = [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : join(dirname(file), path);
    if (!fs.existsSync(join(root, target))) return [link];
    return anchor === undefined || anchors(read(target)).has(anchor) ? [] : [link];
  });
  expect(broken).toEqual([]);
});

test.each(documents)("files that %s names exist", (file) => {
  const named = [...read(file).matchAll(/\b[a-z][\w./-]*\.tsx?\b/g)].map(([name]) => name);
  const places = ["", "src", "tests", "tests/support", dirname(file)];
  expect(named.filter((name) => !places.some((place) => fs.existsSync(join(root, place, name))))).toEqual([]);
});

test("headings that comments reference exist", async () => {
  const lost: string[] = [];
  for await (const file of new Bun.Glob("{src,tests,bench,scripts}/**/*.ts").scan(root)) {
    for (const [whole, document = "", rest = ""] of read(file).matchAll(/\b(docs\/[a-z-]+\.md), ([A-Z].*)/g)) {
      const text = fs.existsSync(join(root, document)) ? read(document) : "";
      const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading.replaceAll("`", ""));
      // A comment may continue after the heading, and a long heading on the next line.
      if (!headings.some((heading) => rest.startsWith(heading) || heading.startsWith(rest)))
        lost.push(`${file}: ${whole}`);
    }
  }
  expect(lost).toEqual([]);
});
