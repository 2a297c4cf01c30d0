/** The API describes itself: a valid OpenAPI document with every field explained, as JSON, YAML and a page. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { operations } from "../../src/operations/table.ts";
import { openApiDocument } from "../../src/server/docs/openapi.ts";
import { Gateway } from "../support/server.ts";

type Node = Record<string, unknown>;

const document = openApiDocument("");

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every node of a document with its path. */
function* nodes(value: unknown, path = ""): Generator<[string, Node]> {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* nodes(item, `${path}/${index}`);
  if (!isNode(value)) return;
  yield [path, value];
  for (const [key, inner] of Object.entries(value)) yield* nodes(inner, `${path}/${key}`);
}

describe("the document", () => {
  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(document)));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    expect(validator.version).toBe("3.1");
  });

  test("has every operation of HTTP, without older names", () => {
    const paths = document.paths as Record<string, Node>;
    for (const { http } of operations) {
      for (const { method, path, alias } of http) {
        const item = paths[path.replace(/:(\w+)/g, "{$1}")];
        expect(item?.[method.toLowerCase()] !== undefined, `${method} ${path}`).toBe(alias !== true);
      }
    }
    const ids = [...nodes(paths)].flatMap(([, node]) =>
      typeof node.operationId === "string" ? [node.operationId] : [],
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("has every route in one of its sections, which the page shows", () => {
    const sections = (document.tags as { name: string }[]).map(({ name }) => name);
    for (const [path, item] of Object.entries(document.paths as Record<string, Record<string, Node>>))
      for (const { tags } of Object.values(item))
        expect([path, sections]).toEqual([path, expect.arrayContaining(tags as string[])]);
  });

  test("explains every field, parameter and answer", () => {
    const silent: string[] = [];
    for (const [path, node] of nodes(document)) {
      if (isNode(node.properties)) {
        for (const [name, property] of Object.entries(node.properties)) {
          const told = isNode(property) && (typeof property.description === "string" || "$ref" in property);
          if (!told) silent.push(`${path}/properties/${name}`);
        }
      }
      const isParameter = typeof node.in === "string" && typeof node.name === "string";
      if (isParameter && typeof node.description !== "string") silent.push(path);
    }
    for (const [name, schema] of Object.entries((document.components as { schemas: Record<string, Node> }).schemas)) {
      if (typeof schema.description !== "string") silent.push(name);
    }
    expect(silent).toEqual([]);
  });

  test("describes how a session is renamed, and what a subscription takes", () => {
    const text = JSON.stringify(document);
    const { paths, components } = JSON.parse(text);
    const body = paths["/sessions/{name}"].patch.requestBody.content["application/json"].schema;
    expect(Object.keys(body.properties)).toContain("name");
    expect(components.schemas.Subscription.properties.events.items.enum).toContain("diffs");
  });

  test("has only references that resolve", () => {
    const schemas = (document.components as { schemas: Node }).schemas;
    for (const [path, { $ref }] of nodes(document)) {
      if ($ref === undefined) continue;
      expect(Object.keys(schemas), path).toContain(String($ref).replace("#/components/schemas/", ""));
    }
    expect(JSON.stringify(document)).not.toContain("$defs");
  });
});

describe("served", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start();
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });

  test("as JSON and YAML, the same", async () => {
    const json = await gateway.tcp("/openapi.json");
    expect(json.headers.get("content-type")).toContain("application/json");
    const yaml = await gateway.tcp("/openapi.yaml");
    expect(yaml.headers.get("content-type")).toBe("text/yaml; charset=utf-8");
    const parsed = await json.json();
    expect(parsed).toEqual(JSON.parse(JSON.stringify(document)));
    expect(Bun.YAML.parse(await yaml.text())).toEqual(parsed);
  });

  test("as one page without external resources, as Markdown for clients that do not accept HTML", async () => {
    const page = await gateway.tcp("/docs", { headers: { Accept: "text/html,*/*" } });
    expect(page.headers.get("content-type")).toContain("text/html");
    const html = await page.text();
    expect(html).toContain("<h3");
    expect(html).not.toMatch(/<script|<style|style="|https?:\/\//);
    const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] ?? "");
    const ids = new Set([...html.matchAll(/id="([^"]+)"/g)].map((match) => match[1]));
    for (const link of links) {
      if (link.startsWith("#")) expect(ids, link).toContain(link.slice(1));
      else expect((await gateway.tcp(link.startsWith("/") ? link : `/${link}`)).status, link).toBe(200);
    }
    const markdown = await gateway.tcp("/docs");
    expect(markdown.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(await markdown.text()).toMatch(/^# wsh /);
  });

  test("only to authorised callers", async () => {
    for (const path of ["/openapi.json", "/openapi.yaml", "/docs", "/docs/style.css", "/metrics"]) {
      expect((await gateway.tcp(path, { token: null })).status, path).toBe(401);
    }
  });
});
