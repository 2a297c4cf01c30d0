import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSkill, skills } from "../../src/mcp/skills/skills.ts";
import { tools } from "../../src/mcp/tools/tools.ts";
import { operations } from "../../src/operations/table.ts";
import { AskResultSchema } from "../../src/protocol/ask-result.ts";
import { StatusSchema } from "../../src/protocol/commands.ts";
import { simpleConditions } from "../../src/protocol/conditions.ts";
import { ElementSpanSchema } from "../../src/protocol/drawing.ts";
import { errorCodes } from "../../src/protocol/errors.ts";
import { SessionInfoSchema } from "../../src/protocol/session.ts";

const folder = join(import.meta.dir, "../../skills");
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const toolOf = new Map(tools.map((tool) => [tool.name, tool]));
const parameters = new Set(tools.flatMap((tool) => [...tool.parameterNames]));

/** Every word in backticks, which a reader takes for a name. */
function quoted(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].flatMap((match) => match[1] ?? []);
}

/** `wsh_tool {json}` as the skills write calls. */
function calls(text: string): { tool: string; json: string }[] {
  return [...text.matchAll(/\b(wsh_[a-z_]+) (\{.*?\})(?=`|\n|$)/g)].map((match) => ({
    tool: match[1] ?? "",
    json: match[2] ?? "",
  }));
}

/** Fields of results besides those in their schemas. */
const resultNames = new Set([
  ...Object.keys(SessionInfoSchema.entries),
  ...Object.keys(StatusSchema.entries),
  ...Object.keys(AskResultSchema.entries),
  ...Object.keys(ElementSpanSchema.pipe[0].entries),
]);

describe("every tool and parameter that a skill names exists", () => {
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    const name = file.slice(folder.length + 1);

    test(`${name}: tools`, () => {
      const named = new Set([...text.matchAll(/\bwsh_[a-z_]+/g)].map((match) => match[0]));
      expect([...named].filter((tool) => !toolOf.has(tool))).toEqual([]);
    });

    test(`${name}: calls are valid`, () => {
      for (const { tool, json } of calls(text)) {
        const known = toolOf.get(tool)?.parameterNames ?? new Set();
        expect(Object.keys(JSON.parse(json)).filter((key) => !known.has(key))).toEqual([]);
      }
    });

    test(`${name}: words that look like parameters are parameters, results or error codes`, () => {
      const words = quoted(text).flatMap((code) => /^([a-z]+(?:_[a-z]+)+)(?::.*)?$/.exec(code)?.[1] ?? []);
      const values = new Set([
        ...simpleConditions,
        ...tools.flatMap((tool) => JSON.stringify(tool.inputJson).match(/[a-z]+(?:_[a-z]+)*/g) ?? []),
      ]);
      const unknown = words.filter(
        (word) =>
          !toolOf.has(word) &&
          !parameters.has(word) &&
          !resultNames.has(word) &&
          !values.has(word) &&
          !errorCodes.some((code) => code === word) &&
          !tools.some((tool) => JSON.stringify(tool.outputJson).includes(`"${word}"`)),
      );
      expect(unknown).toEqual([]);
    });

    test(`${name}: parameters with a value have an allowed one`, () => {
      for (const code of quoted(text)) {
        const [, key, value] = /^([a-z_]+): (true|false|"[a-z_]+")$/.exec(code) ?? [];
        if (key === undefined || value === undefined || !parameters.has(key)) continue;
        // `code` is a parameter, and the key of an error.
        if (key === "code" && errorCodes.some((code) => `"${code}"` === value)) continue;
        const schemas = tools.map((tool) => (tool.inputJson.properties as Record<string, object>)[key] ?? {});
        const takes = schemas.some((schema) => {
          const { enum: choices, type } = schema as { enum?: unknown[]; type?: string };
          return choices?.includes(JSON.parse(value)) ?? (type === "boolean" && value !== "" && !value.startsWith('"'));
        });
        expect(takes ? code : `${code} is not a value of ${key}`).toBe(code);
      }
    });
  }
});

test("there are ten skills, each a folder with its own name", () => {
  expect(skills.map((skill) => skill.name)).toEqual([
    "core",
    "drive-process",
    "tui",
    "script",
    "multi-session",
    "agent-orchestration",
    "monitor",
    "visual-feedback",
    "input-capture",
    "generative-ui",
  ]);
  expect(readdirSync(folder).sort()).toEqual(skills.map((skill) => skill.name).sort());
});

test("the prompts state their purpose, and each names the guide that it builds on", () => {
  expect(skills[0]?.description).toBe("API primitives and the send, wait, read, decide loop");
  expect(skills[2]?.description).toBe("Operating full-screen terminal applications (vim, htop, lazygit)");
  for (const skill of skills) {
    expect(skill.text.startsWith(`# wsh:${skill.name}`)).toBe(true);
    if (skill.name !== "core") expect(skill.text).toContain("`wsh:core`");
  }
});

/** How to call over HTTP and from the command line: the other form of `core`. */
const coreOverHttp = parseSkill(readFileSync(join(import.meta.dir, "../../skills/core/HTTP.md"), "utf8"));

test("the two forms of core name each other", () => {
  expect(skills[0]?.text).toContain("`HTTP.md`");
  expect(coreOverHttp.text).toContain("`SKILL.md`");
});

test("the HTTP form uses routes that exist", () => {
  const routes = operations.flatMap((operation) => operation.http.map((binding) => binding.path));
  const used = [...coreOverHttp.text.matchAll(/http:\/\/wsh(\/[^\s?'"]*)/g)].map((match) => match[1] ?? "");
  expect(used.length).toBeGreaterThan(5);
  const patterns = routes.map((route) => new RegExp(`^${route.replace(/:[a-z]+/g, "[^/]+")}$`));
  expect(used.filter((path) => !patterns.some((pattern) => pattern.test(path)))).toEqual([]);
});

test("a skill fits into a model's context", () => {
  for (const file of files) expect(readFileSync(file, "utf8").length).toBeLessThan(6_000);
});
