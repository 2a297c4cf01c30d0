/** Setup changes the bytes of its entry and no others, wherever the file has comments. */
import { expect, test } from "bun:test";
import { changeListInJsonc, removeFromJsonc, setInJsonc } from "../../../src/cli/setup/jsonc.ts";
import { removeFromToml, setInToml } from "../../../src/cli/setup/toml.ts";

const path = ["mcpServers", "wsh"];
const entry = { command: "wsh", args: ["mcp"] };
const ours = { hooks: [{ type: "command", command: "wsh hook claude Stop" }] };
const withoutOurs = (item: unknown): unknown => (JSON.stringify(item).includes("wsh hook") ? undefined : item);

/** Tokens of each: between two of them a comment may be. `@` is where our entry begins and ends. */
const documents = [
  `{ \n "x" : 12345678901234567890 , \n "mcpServers" : { \n "a" : { "command" : "a" } , \n "b" : { "command" : "b" } \n } , \n "y" : [ 1 , 2 ] \n }`,
  `{ \n "mcpServers" : { \n "a" : { "command" : "a" } , \n } , \n }`,
  `{ "mcpServers" : { "a" : { } } , "y" : null }`,
  `{ \r\n "mcpServers" : { \r\n } \r\n }`,
  `{ \n }`,
];
const own = [
  `{ \n "mcpServers" : { \n @"wsh" : { "command" : "old" , "env" : { "A" : "1" } }@ , \n "b" : { } \n } \n }`,
  `{ \n "mcpServers" : { \n "b" : { } , \n @"wsh" : { "command" : "old" }@ \n } \n }`,
  `{ \n "mcpServers" : { \n "b" : { } , \n @"wsh" : { "command" : "old" }@ , \n } \n }`,
  `{ "mcpServers" : { "b" : { } , @"wsh" : { "command" : "old" }@ , "c" : 1 } }`,
  `{ \n "mcpServers" : { \n @"wsh" : { "command" : "old" }@ \n } \n }`,
];

/** The document with a comment at one gap after the other, and at all; in ours none. */
function* commented(document: string): Generator<string> {
  const tokens = document.split(" ");
  for (const comment of ["/* N */", "// N\n"]) {
    for (let at = 0; at <= tokens.length; at++) {
      let inOurs = false;
      let numbered = 0;
      const all = tokens.map((token, index) => {
        const before = !inOurs && (at === index || at === tokens.length) ? comment.replace("N", `${++numbered}`) : "";
        if (token.split("@").length === 2) inOurs = !inOurs;
        return `${before} ${token}`;
      });
      yield all.join("");
    }
  }
}

function commentsOf(text: string): string[] {
  return text.match(/\/\* \d+ \*\/|\/\/ \d+/g) ?? [];
}

test("JSON with comments: an added entry is removed to the byte, and no comment moves", () => {
  for (const document of documents) {
    for (const text of commented(document)) {
      const set = setInJsonc(text, path, entry);
      expect(commentsOf(set)).toEqual(commentsOf(text));
      // Inserted, and nothing else.
      let at = 0;
      for (const char of text.replace(/\s/g, "")) {
        at = set.indexOf(char, at) + 1;
        if (at === 0) expect().fail(`${JSON.stringify(text)} is not in ${JSON.stringify(set)}`);
      }
      if (document.includes('\n "a"')) expect(removeFromJsonc(set, path)).toBe(text);
    }
  }
});

test("JSON with comments: an entry of ours is changed and removed among others' bytes", () => {
  for (const document of own) {
    for (const marked of commented(document)) {
      const [before = "", , after = ""] = marked.split("@");
      const text = marked.replaceAll("@", "");
      const set = setInJsonc(text, path, entry);
      expect(set.startsWith(before)).toBe(true);
      expect(set.endsWith(after)).toBe(true);
      const removed = removeFromJsonc(text, path);
      expect(commentsOf(removed)).toEqual(commentsOf(text));
      const rest = `${before}${after}`.replace(/[\s,]/g, "");
      expect(removed.replace(/[\s,]/g, "")).toBe(rest);
    }
  }
});

test("hooks: an item of ours in a list, beside others' and their comments", () => {
  const text = `{
  // mine
  "hooks": {
    "Stop": [
      { "hooks": [ { "command": "mine" } ] }, // of mine
      // last
    ]
  }
}
`;
  const list = ["hooks", "Stop"];
  const added = changeListInJsonc(text, list, withoutOurs, [ours]);
  expect(commentsOf(added)).toEqual(commentsOf(text));
  expect(changeListInJsonc(added, list, withoutOurs, [])).toBe(text);
  const shared = `{ "hooks": { "Stop": [
    { "matcher": "*", /* both */ "hooks": [
      { "command": "wsh hook claude Stop" }, // ours
      { "command":   "mine" } // mine
    ] }
  ] } }`;
  const others = { matcher: "*", hooks: [{ command: "mine" }] };
  expect(changeListInJsonc(shared, list, () => others, [])).toBe(
    shared.replace('{ "command": "wsh hook claude Stop" }, ', ""),
  );
});

test("TOML: comments, large integers and others' tables keep their bytes", () => {
  const others = `# head
big = 9223372036854775807 # beyond 2^53

# of a
[mcp_servers.a] # a
command = 'a' # its command
`;
  const table = ["mcp_servers", "wsh"];
  const set = setInToml(others, table, entry);
  expect(set.startsWith(others)).toBe(true);
  expect(removeFromToml(set, table)).toBe(others);
  const ours = `
# of ours
[mcp_servers.wsh] # header
command = "old" # command
args = [ # items
  "x",
]   # args
# end of ours

[z] # z
`;
  expect(setInToml(others + ours, table, entry)).toBe(
    others + ours.replace('"old"', '"wsh"').replace('[ # items\n  "x",\n]', '["mcp"]'),
  );
  expect(removeFromToml(others + ours, table)).toBe(`${others}\n# of ours\n# end of ours\n\n[z] # z\n`);
});
