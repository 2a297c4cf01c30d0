/** An agent's program with its promises recorded behaves as before. */
import { expect, test } from "bun:test";
import { NOTED, withNotedPromises } from "../../../src/script/noted-promises.ts";

const noted = (given: unknown): unknown => {
  if (typeof given !== "function") return given;
  return function (this: unknown, ...args: unknown[]): unknown {
    return noted(given.apply(this, args));
  };
};

test.each([
  ["a variable of any name", "const given = 5; async function f(a) { return given + a; } return await f(1);"],
  ["a property of a function", "async function f() { return f.cache; } f.cache = 6; return await f();"],
  ["a function that replaces itself", "async function f() { f = async () => 6; } await f(); return await f();"],
  [
    "calls before the declaration",
    "const v = f(6); async function f(n) { return n && 1 + await f(n - 1); } return await v;",
  ],
  ["a parameter declared again", "const o = { async m(p) { var p = p || 1; return p; } }; return await o.m(6);"],
  ["a parameter that fails", "const o = { async m(p = null.x) {} }; const p = o.m(); return await p.catch(() => 6);"],
  [
    "a line without a semicolon",
    "class A { a = 6\n async ['m']() { return this.a; }\n b = 1 } return await new A().m();",
  ],
  ["parameters and a body apart", "const o = { async m(p /* ) */) // )\n{ return p; } }; return await o.m(6);"],
  [
    "methods called as words",
    "class A { static async static() { return 2; } async get() { return 4; } }\n" +
      "return await A.static() + await new A().get();",
  ],
  [
    "this, super and arguments",
    "class B { async x(a) { return a; } } class A extends B { y = 3;\n" +
      "async x() { return this.y + await super.x(...arguments); } } return await new A().x(3);",
  ],
  [
    "generators",
    "async function* g() { yield 2; } const o = { async *g() { yield 4; } }; let s = 0;\n" +
      "for await (const x of g()) s += x; for await (const x of o.g()) s += x; return s;",
  ],
])("%s", async (_, program) => {
  const written = withNotedPromises(program);
  expect(written.split("\n").length).toBe(program.split("\n").length);
  expect(await new Function(NOTED, `return (async () => {${written}\n})();`)(noted)).toBe(6);
});
