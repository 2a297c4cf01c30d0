/** The tables of numbers and layouts agree with the systems' headers, from whose own terms each is computed here. */
import { expect, test } from "bun:test";
import { darwin } from "../../../src/platform/darwin.ts";
import { linux } from "../../../src/platform/linux.ts";
import type { PlatformTable } from "../../../src/platform/table.ts";
import { darwinHeaders } from "../../fixtures/headers/darwin.ts";
import { linuxHeaders } from "../../fixtures/headers/linux.ts";
import type { HeaderFacts } from "../../fixtures/headers/terms.ts";
import { requestNumber, typeOf } from "../../support/c-layout.ts";

const systems: readonly { name: string; table: PlatformTable; headers: HeaderFacts }[] = [
  { name: "Linux", table: linux, headers: linuxHeaders },
  { name: "macOS", table: darwin, headers: darwinHeaders },
];

function constantsOf(headers: HeaderFacts): Map<string, number> {
  const requests = Object.entries(headers.requests).map(
    ([name, request]) => [name, requestNumber(headers, request)] as const,
  );
  return new Map([...requests, ...Object.values(headers.numbers).flatMap((numbers) => Object.entries(numbers))]);
}

test.each(systems)("$name: every number of the table equals the headers'", ({ table, headers }) => {
  const known = constantsOf(headers);
  const ours = Object.entries(table.constants).map(([name, value]) => [name, value] as const);
  expect(ours).toEqual(ours.map(([name]) => [name, known.get(name) ?? null]));
});

test.each(systems)("$name: every layout of the table equals a compiler's of the headers", ({ table, headers }) => {
  for (const [name, layout] of Object.entries(table.layouts)) {
    if (layout === null) {
      expect(headers.structs).not.toHaveProperty(name);
      continue;
    }
    const { bytes, fields } = typeOf(headers, name);
    const computed = Object.keys(layout.fields).map((field) => [field, fields.get(field)]);
    expect({ name, bytes, fields: Object.fromEntries(computed) }).toEqual({ name, ...layout });
  }
});

test.each(systems)("$name: limits follow from the layouts and numbers", ({ table, headers }) => {
  const known = constantsOf(headers);
  expect(table.limits.socketPath).toBe(table.layouts.sockaddr_un.fields.sun_path.bytes - 1);
  expect(table.limits.argumentsTotal).toBe(known.get("ARG_MAX") ?? null);
  if (known.has("MAX_CANON")) expect(table.limits.cookedLine).toBe(known.get("MAX_CANON") ?? 0);
});

test("BSD's macros encode direction, size, group and number", () => {
  expect(requestNumber(darwinHeaders, { macro: "_IO", group: "t", number: 97 })).toBe(0x20007461);
  expect(requestNumber(darwinHeaders, { macro: "_IOWR", group: "t", number: 1, type: "int" })).toBe(0xc0047401);
});
