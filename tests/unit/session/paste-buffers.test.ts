/** The paste buffers of an instance: names, limits, several writers, files left by a dead writer. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { BufferFiles } from "../../../src/instance/buffer-files.ts";
import { BufferNameSchema, MAX_BUFFERS } from "../../../src/protocol/paste.ts";
import { PasteBuffers } from "../../../src/session/paste-buffers.ts";
import { testInstance } from "../../support/registry.ts";

const person = { kind: "cli", id: "cli:1", name: "wsh", connected: true } as const;
const agent = { ...person, agent: "claude" };

function shared() {
  const place = testInstance();
  const { instance, env, dir } = place;
  const open = (isPrivate = false) => new PasteBuffers(new BufferFiles(instance), () => isPrivate);
  const files = (): string => {
    const parent = join(dir, "home/.local/state/wsh/buffers");
    return join(parent, fs.readdirSync(parent)[0] ?? "");
  };
  const names = (): string[] =>
    open()
      .list()
      .map(({ name }) => name);
  return { open, files, names, env, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

test("where each one has been given a name, there is no newest copy, and the reason says so", () => {
  using place = shared();
  const buffers = place.open();
  buffers.set({ text: "a" });
  buffers.rename(undefined, "mine", person);
  expect(() => buffers.get(undefined, person)).toThrow("every paste buffer has a name of its own");
  expect(() => buffers.remove(undefined, person)).toThrow("every paste buffer has a name of its own");
  buffers.remove("mine", person);
  expect(() => buffers.get(undefined, person)).toThrow("nothing has been copied yet");
});

test("without a name, a person's call uses no copy of an agent; an agent's call uses the newest", () => {
  using place = shared();
  const buffers = place.open();
  const owner = { kind: "agent", name: "claude" } as const;
  buffers.set({ text: "theirs", owner });
  expect(() => buffers.get(undefined, person)).toThrow("only AI agents have made paste buffers: choose one by");
  // The same text, copied by a person, is the person's.
  buffers.set({ text: "theirs" });
  expect(buffers.list().length).toBe(2);
  buffers.set({ text: "mine" });
  const { name } = buffers.set({ text: "rm -rf x", owner });
  expect(buffers.get(undefined, person).text).toBe("mine");
  expect(buffers.get(name, person).text).toBe("rm -rf x");
  expect(buffers.get(undefined, agent).text).toBe("rm -rf x");
  expect([buffers.newestName(person), buffers.newestName(agent)]).toEqual(["buffer2", name]);
  expect([buffers.ownerOf(undefined, person), buffers.ownerOf(undefined, agent)]).toEqual([null, owner]);
  expect(buffers.rename(undefined, "named", person).name).toBe("named");
  expect(buffers.remove(undefined, person).begins).toBe("theirs");
  for (const use of [() => buffers.remove(undefined, person), () => buffers.rename(undefined, "x", person)])
    expect(use).toThrow("only AI agents have made paste buffers: choose one by");
  expect(buffers.remove(undefined, agent).name).toBe(name);
});

test("a program's copy is that of the agent which drives it", () => {
  using place = shared();
  const buffers = place.open();
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  buffers.storeCopy({ selection: "c", base64: base64("a person's") });
  buffers.storeCopy({ selection: "c", base64: base64("an agent's"), agent: "claude" });
  buffers.storeCopy({ selection: "c", base64: "" });
  expect(buffers.list()).toHaveLength(2);
  expect(buffers.get(undefined, person).text).toBe("a person's");
  expect(buffers.ownerOf(undefined, agent)).toEqual({ kind: "agent", name: "claude" });
});

test("an agent's buffers push out none of people's, under whatever names, and are the first to go", () => {
  using place = shared();
  const buffers = place.open();
  const [claude, codex] = ["claude", "codex"].map((name) => ({ kind: "agent", name }) as const);
  buffers.set({ text: "a person's" });
  buffers.set({ text: "named", name: "mine" });
  buffers.set({ text: "codex's", name: "other", owner: codex });
  for (let n = 0; n < MAX_BUFFERS + 5; n++) buffers.set({ text: `flood ${n}`, owner: claude });
  const texts = () => buffers.list().map(({ begins }) => begins);
  expect(texts()).toHaveLength(MAX_BUFFERS);
  expect(texts()).toEqual(expect.arrayContaining(["a person's", "named", "codex's", `flood ${MAX_BUFFERS + 4}`]));
  for (let n = 3; n < MAX_BUFFERS; n++) buffers.set({ text: `person ${n}` });
  expect(texts().filter((text) => text.startsWith("flood"))).toHaveLength(0);
  expect(texts()).toEqual(expect.arrayContaining(["a person's", "named", "codex's", "person 3"]));
  buffers.set({ text: "one more", owner: claude });
  buffers.set({ text: "and another", owner: claude });
  expect(texts()).toHaveLength(MAX_BUFFERS);
  expect(texts()).toEqual(expect.arrayContaining(["a person's", "and another"]));
  // Names cost nothing: ever new ones take the place of each other.
  buffers.set({ text: "one of a person's more" });
  for (let n = 0; n < 9; n++) buffers.set({ text: `of ${n}`, owner: { kind: "agent", name: `agent ${n}` } });
  expect(texts()).toHaveLength(MAX_BUFFERS + 1);
  expect(texts()).toEqual(expect.arrayContaining(["a person's", "named", "of 8"]));
});

test("copies have numbers, given names replace, and a number is not assigned twice", () => {
  using place = shared();
  const { open, names } = place;
  const buffers = open();
  expect(() => buffers.get(undefined, person)).toThrow("nothing has been copied yet");
  expect(() => buffers.get(undefined, person)).toThrow("nothing has been copied yet");
  buffers.set({ text: "a" });
  buffers.set({ text: "b" });
  expect(buffers.set({ text: "b" }).name).toBe("buffer1");
  buffers.remove(undefined, person);
  expect(buffers.set({ text: "c" }).name).toBe("buffer2");
  buffers.set({ text: "first", name: "mine" });
  buffers.set({ text: " second", name: "mine", append: true });
  expect(open().get("mine", person).text).toBe("first second");
  expect(open().get(undefined, person).text).toBe("c");
  buffers.rename("mine", "buffer9", person);
  expect(names()).toEqual(["buffer9", "buffer2", "buffer0"]);
  for (let n = 5; n < 12; n++) buffers.set({ text: `copy ${n}` });
  expect(buffers.get("buffer9", person).text).toBe("first second");
  expect(new Set(names()).size).toBe(names().length);
  buffers.rename("buffer0", "buffer9", person);
  expect(buffers.get("buffer9", person).text).toBe("a");
  const [composed, decomposed] = ["\u00fc", "u\u0308"];
  expect(v.parse(BufferNameSchema, decomposed)).toBe(composed);
});

test("the oldest are evicted first, and those with a given name last; a session's private ones are invisible to others", () => {
  using place = shared();
  const { open, names, files } = place;
  const buffers = open();
  buffers.set({ text: "stays", name: "named" });
  for (let n = 0; n < 60; n++) buffers.set({ text: `copy ${n}` });
  expect(names()).toHaveLength(50);
  expect(names()).toContain("named");
  expect(buffers.get(undefined, person).text).toBe("copy 59");
  for (let n = 0; n < 9; n++) buffers.set({ text: `${n}`.repeat(1024 * 1024) });
  expect(names().length).toBeLessThan(9);
  expect(() => buffers.set({ text: "x".repeat(1024 * 1024 + 1) })).toThrow("at most 1048576");
  expect(fs.readdirSync(files()).length).toBeLessThan(10);
  const alone = open(true);
  alone.set({ text: "secret" });
  expect(alone.get(undefined, person).text).toBe("secret");
  expect(alone.list().length).toBe(names().length + 1);
  expect(buffers.list().some(({ begins }) => begins.includes("secret"))).toBe(false);
  for (const name of fs.readdirSync(files())) {
    expect(fs.statSync(join(files(), name)).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(join(files(), name), "utf8")).not.toContain("secret");
  }
});

test("a private session changes none of the buffers that others share", () => {
  using place = shared();
  const { open, names } = place;
  const [buffers, alone] = [open(), open(true)];
  buffers.set({ text: "theirs", name: "x" });
  buffers.set({ text: "copy" });
  const before = buffers.list();
  alone.set({ text: " and mine", name: "x", append: true });
  expect(alone.get("x", person).text).toBe("theirs and mine");
  alone.set({ text: "mine", name: "y" });
  alone.rename("y", "buffer0", person);
  expect(alone.get("buffer0", person).text).toBe("mine");
  for (let n = 0; n < 60; n++) alone.set({ text: `${n}` });
  alone.clear();
  expect(buffers.list()).toEqual(before);
  for (const change of [
    () => alone.remove(undefined, person),
    () => alone.remove("x", person),
    () => alone.rename("x", "z", person),
  ])
    expect(change).toThrow("a private one does not change it");
  expect(() => alone.clear()).toThrow("nothing has been copied yet");
  expect(alone.get("x", person).text).toBe("theirs");
  expect(names()).toEqual(before.map(({ name }) => name));
});

test("a dead writer's remains are ignored, and removed; two concurrent writers lose nothing", async () => {
  using place = shared();
  const { open, files, names, env } = place;
  open().set({ text: "before" });
  fs.writeFileSync(join(files(), "1"), '{"name":null,"bytes":100,"at":1,"owner":null}\nhalf');
  fs.writeFileSync(join(files(), "2"), '{"name":nul');
  expect(names()).toEqual(["buffer0"]);
  fs.utimesSync(join(files(), "1"), 1, 1);
  const module = (path: string) => JSON.stringify(join(import.meta.dir, "../../../src", path));
  const source = `
    const { PasteBuffers } = await import(${module("session/paste-buffers.ts")});
    const { BufferFiles } = await import(${module("instance/buffer-files.ts")});
    const { resolveInstance } = await import(${module("instance/paths.ts")});
    const buffers = new PasteBuffers(new BufferFiles(resolveInstance({ env: process.env })), () => false);
    for (let n = 0; n < 20; n++) buffers.set({ text: process.argv[1] + n });`;
  const writers = ["x", "y"].map((name) =>
    Bun.spawn([process.execPath, "-e", source, name], { env: { ...process.env, ...env }, stderr: "inherit" }),
  );
  expect(await Promise.all(writers.map(({ exited }) => exited))).toEqual([0, 0]);
  const texts = open()
    .list()
    .map(({ begins }) => begins);
  expect(texts.toSorted()).toEqual(
    [..."xy"]
      .flatMap((name) => Array.from({ length: 20 }, (_, n) => name + n))
      .concat("before")
      .toSorted(),
  );
  expect(fs.existsSync(join(files(), "1"))).toBe(false);
});
