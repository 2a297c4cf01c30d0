/** Key tables: without the prefix, custom tables, copy mode; and errors in their settings. */
import { describe, expect, test } from "bun:test";
import { type ConfiguredKey, parseBindings } from "../../../src/keys/configured.ts";
import { decodeKeys, initialKeyState } from "../../../src/keys/decode.ts";
import { handleKeyEvent, type PrefixContext, parsePrefix, type TableState } from "../../../src/keys/prefix.ts";
import { KeyReader } from "../../../src/keys/reader.ts";
import { KeyTables } from "../../../src/keys/tables.ts";
import { until } from "../../support/until.ts";

type Entry = readonly [key: string, value: unknown];

function entries(tables: Readonly<Record<string, readonly Entry[]>>): ConfiguredKey[] {
  let line = 0;
  return Object.entries(tables).flatMap(([table, keys]) =>
    keys.map(([key, value]) => ({ ...(table === "" ? {} : { table }), key, value, path: "config.toml", line: ++line })),
  );
}

const reader = {
  readCall: (line: { operation: string; parameters: object }) => ({
    operation: line.operation,
    input: line.parameters as Record<string, string>,
  }),
  check: () => {},
};

function changes(tables: Readonly<Record<string, readonly Entry[]>>) {
  return parseBindings(entries(tables), reader);
}

function refused(tables: Readonly<Record<string, readonly Entry[]>>): string {
  try {
    changes(tables);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

/** A terminal whose keys arrive at separate times. */
class Typist {
  private state: TableState = null;
  now = 0;
  constructor(
    public tables: KeyTables,
    private readonly how: Partial<PrefixContext> = {},
  ) {}

  /** Effect of each key of an input. */
  types(input: string): string[] {
    return decodeKeys(initialKeyState, Buffer.from(input)).events.map((event) => {
      const context = {
        captured: false,
        prefix: parsePrefix("C-b"),
        repeatMs: 500,
        acceptsRootKeys: true,
        ...this.how,
      };
      const { state, action } = handleKeyEvent(this.state, event, { ...context, tables: this.tables, now: this.now });
      this.state = state;
      if (action.type === "forward") return `send ${JSON.stringify(Buffer.from(action.raw).toString("latin1"))}`;
      if (action.type !== "bound" && action.type !== "unbound") return action.type;
      return action.pressed === null ? action.type : `${action.type} ${action.pressed.table}:${action.pressed.key}`;
    });
  }
}

const own = changes({
  "": [
    ["r", "view.table table=resize timeout=1000 stay=true"],
    ["g", ["view.table table=go", "pane.zoom"]],
    ["C-b", "window.select to=last"],
  ],
  root: [
    ["M-h", "pane.select to=left"],
    ["C-Space", "pane.select to=right"],
    ["F5", "view.table table=go timeout=200"],
  ],
  resize: [
    ["h", "pane.resize direction=left"],
    ["l", { operation: "pane.resize", input: { direction: "right" }, repeat: true }],
  ],
  go: [["x", "window.select to=next"]],
});

describe("keys in tables", () => {
  test("without the prefix in every encoding of the same key, and text only where one is bound", () => {
    const typist = new Typist(new KeyTables(own));
    expect(typist.types("a\x1bh\x1b[104;3u\x1b[27;3;104~b\0")).toEqual([
      ...['send "a"', "bound root:alt+h", "bound root:alt+h", "bound root:alt+h", 'send "b"', "bound root:ctrl+ "],
    ]);
    expect(new KeyTables(own).bindsText).toBe(false);
    expect(new KeyTables(changes({ root: [["a", "pane.zoom"]] })).bindsText).toBe(true);
    // Kitty's reports of releases, and a paste, are not presses.
    expect(typist.types("\x1b[104;3:3u\x1b[200~\x1bh\x1b[201~").every((each) => each.startsWith("send"))).toBe(true);
  });

  test("a custom table has the keys until one that it lacks, which is looked up without it and never typed", () => {
    const typist = new Typist(new KeyTables(own));
    expect(typist.types("\x02rhhl")).toEqual(["wait", "wait", ...["h", "h", "l"].map((key) => `bound resize:${key}`)]);
    expect(typist.types("qq")).toEqual(["unbound resize:q", 'send "q"']);
    expect(typist.types("\x02rh\x1bh\x1bh")).toEqual([
      "wait",
      "wait",
      "bound resize:h",
      ...Array(2).fill("bound root:alt+h"),
    ]);
    expect(typist.types("\x02r\x02n")).toEqual(["wait", "wait", "wait", "bound prefix:n"]);
    expect(typist.types("\x02r\x1b[27uh")).toEqual(["wait", "wait", "unbound", 'send "h"']);
  });

  test("its time counts from the last key; another table takes one key", () => {
    const typist = new Typist(new KeyTables(own));
    typist.types("\x02r");
    typist.now = 900;
    expect(typist.types("h")).toEqual(["bound resize:h"]);
    typist.now = 1_800;
    expect(typist.types("h")).toEqual(["bound resize:h"]);
    typist.now = 2_900;
    expect(typist.types("h")).toEqual(['send "h"']);
    expect(typist.types("\x1b[15~xx")).toEqual(["wait", "bound go:x", 'send "x"']);
    typist.types("\x1b[15~");
    typist.now += 201;
    expect(typist.types("x")).toEqual(['send "x"']);
  });

  test("the prefix twice runs the prefix key's binding, else it detaches; several operations may lead to a table", () => {
    expect(new Typist(new KeyTables(own)).types("\x02\x02")).toEqual(["wait", "bound prefix:ctrl+b"]);
    expect(new Typist(new KeyTables({})).types("\x02\x02")).toEqual(["wait", "detach"]);
    expect(new Typist(new KeyTables(own)).types("\x02gx")).toEqual(["wait", "bound prefix:g", "bound go:x"]);
  });

  test("a key repeats for the time of the setting; afterwards it, and any other key, is the program's", () => {
    const typist = new Typist(new KeyTables(own), { repeatMs: 300 });
    expect(typist.types("\x02\x1b[1;5A\x1b[1;5A")).toEqual(["wait", ...Array(2).fill("bound prefix:ctrl+ArrowUp")]);
    typist.now = 301;
    expect(typist.types("\x1b[1;5A")).toEqual(['send "\\u001b[1;5A"']);
    expect(typist.types("\x02\x1b[1;5Ah")).toEqual(["wait", "bound prefix:ctrl+ArrowUp", 'send "h"']);
    expect(new Typist(new KeyTables(own), { repeatMs: 0 }).types("\x02\x1b[1;5A\x1b[1;5A").at(-1)).toStartWith("send");
  });

  test("a caller with the keyboard gets all of them, except the prefix", () => {
    expect(new Typist(new KeyTables(own), { acceptsRootKeys: false }).types("\x1bh\x02n")).toEqual([
      ...['send "\\u001bh"', "wait", "bound prefix:n"],
    ]);
    expect(new Typist(new KeyTables(own), { captured: true }).types("\x1bh\x02")).toEqual([
      ...['send "\\u001bh"', "release"],
    ]);
  });

  test("a table that a reload removes ends at the next key, which is the program's", () => {
    const typist = new Typist(new KeyTables(own));
    typist.types("\x02r");
    typist.tables = new KeyTables({});
    expect(typist.types("hh")).toEqual(['send "h"', 'send "h"']);
  });

  test("copy mode's own keys, and their other effects", () => {
    const tables = new KeyTables(
      changes({
        copy: [
          ["x", "copy.page_up"],
          ["k", "none"],
          ["C-n", "window.select to=next"],
        ],
      }),
    );
    expect(tables.copyModeChanges).toEqual({ x: "page_up", k: null, "ctrl+n": null });
    expect([...tables.copy.keys()]).toEqual(["ctrl+n"]);
  });
});

test("a reader stays in a table, shows its keys after a while, and leaves it when its time is over", async () => {
  const seen: string[] = [];
  let waits = 0;
  const keys = new KeyReader(
    { key: parsePrefix("C-b"), tables: new KeyTables(own), repeatMs: 500, escapeMs: 10, keyHelpMs: 400 },
    {
      forward: (bytes) => seen.push(Buffer.from(bytes).toString()),
      ...{ reply: () => {}, detach: () => {}, release: () => {} },
      tableEntered: () => {
        waits += 1;
      },
      showHelp: (table) => seen.push(`map ${table}`),
      pressTableKey: ({ key }) => seen.push(key),
    },
  );
  const push = (text: string): void => keys.push(Buffer.from(text));
  push("\x1b[15~");
  expect(waits).toBe(1);
  expect(keys.isAtRest).toBe(false);
  await until("its end", () => keys.isAtRest);
  push("x");
  expect(seen.splice(0)).toEqual(["x"]);
  // A key that arrives in two reads.
  push("\x02r\x1b");
  push("h");
  expect(seen.splice(0)).toEqual(["alt+h"]);
  push("\x02r");
  await until("its map", () => seen.includes("map resize"));
  push("\x1b[27u");
  expect(seen.splice(0)).toEqual(["map resize", "map null"]);
  keys.dispose();
});

describe("the settings name what they refuse", () => {
  test.each([
    [
      "the same key twice",
      {
        root: [
          ["M-h", "pane.zoom"],
          ["Alt+h", "pane.zoom"],
        ],
      },
      'config.toml:2: [keys.root] "Alt+h": is already bound on line 1',
    ],
    [
      "one key in two encodings",
      {
        "": [
          ["C-i", "pane.zoom"],
          ["Tab", "pane.zoom"],
        ],
      },
      "is already bound on line 1",
    ],
    ["a table that is not there", { "": [["x", "view.table table=nowhere"]] }, "there is no table [keys.nowhere]"],
    ["the prefix's table by another name", { prefix: [["x", "pane.zoom"]] }, "[keys.prefix]"],
    [
      "copy mode's actions elsewhere",
      { root: [["M-x", "copy.page_up"]] },
      "'copy.page_up' can be bound only in [keys.copy]",
    ],
    [
      "a program without a name",
      { "": [["x", "view.run"]] },
      "view.run needs either run=PROGRAM,ARGUMENT or shell=LINE",
    ],
    [
      "a number that is none",
      { "": [["x", "view.table table=prefix timeout=soon"]] },
      `'timeout' is "soon", expected a number`,
    ],
    ["too many at once", { "": [["x", Array(17).fill("pane.zoom")]] }, "a list has 1 to 16 operations"],
    ["two ways to say it", { "": [["x", { do: "pane.zoom", operation: "pane.zoom" }]] }, "'do' cannot be used with"],
  ] as const)("%s", (_, tables, description) => {
    expect(refused(tables as unknown as Record<string, Entry[]>)).toContain(description);
  });

  test("and accept programs by their arguments, or a line of sh", () => {
    const bound = changes({
      "": [
        ["x", `view.run run=git,fetch`],
        ["y", `view.run run='["a b","c,d"]'`],
        ["z", 'view.run shell="a | b"'],
      ],
    });
    expect(Object.values(bound).map((each) => each?.input)).toEqual([
      ...[{ run: ["git", "fetch"] }, { run: ["a b", "c,d"] }, { shell: "a | b" }],
    ]);
  });
});
