/** A program that starts before its pane: its output and end reach the pane once that requests it. */
import { expect, test } from "bun:test";
import { startEarly } from "../../../src/pane/early-start.ts";
import type { Pty, PtyEvents, PtySpawn } from "../../../src/pty/port.ts";

const spawn: PtySpawn = { file: "/bin/sh", args: [], cwd: "/", env: {}, rows: 24, cols: 80 };

/** A terminal in which nothing runs; `started` are the requested programs. */
function fakeTerminal() {
  const started: { readonly spawn: PtySpawn; readonly events: PtyEvents; isDisposed: boolean }[] = [];
  const open = async (spawn: PtySpawn, events: PtyEvents): Promise<Pty> => {
    const program = { spawn, events, isDisposed: false };
    started.push(program);
    const dispose = (): void => {
      program.isDisposed = true;
    };
    return { dispose } as Pty;
  };
  return { started, open };
}

test("an early program's output and end reach the pane in order, once it exists; a restart starts another", async () => {
  const { started, open } = fakeTerminal();
  const calls: string[] = [];
  const keyFile = { offer: () => void calls.push("offer"), withdraw: () => void calls.push("withdraw") };
  const early = startEarly(spawn, { open, keyFile });
  expect(calls).toEqual(["offer"]);
  const [program] = started;
  program?.events.data(new TextEncoder().encode("a"));
  program?.events.data(new TextEncoder().encode("b"));
  program?.events.exit({ code: 3, signal: null });
  const seen: unknown[] = [];
  const events: PtyEvents = {
    data: (bytes) => void seen.push(new TextDecoder().decode(bytes)),
    exit: ({ code }) => void seen.push(code),
  };
  early.keyFile?.offer();
  await early.open(spawn, events);
  program?.events.data(new TextEncoder().encode("c"));
  expect(seen).toEqual(["a", "b", 3, "c"]);
  expect(calls).toEqual(["offer"]);
  early.keyFile?.offer();
  await early.open(spawn, events);
  expect(calls).toEqual(["offer", "offer"]);
  expect(started.length).toBe(2);
  early.discard();
  await Bun.sleep(0);
  expect(started.map(({ isDisposed }) => isDisposed)).toEqual([false, false]);
});

test("an early program without a pane is ended; one that cannot be started fails the pane's start alone", async () => {
  const { started, open } = fakeTerminal();
  startEarly(spawn, { open }).discard();
  await Bun.sleep(0);
  expect(started[0]?.isDisposed).toBe(true);
  const failing = startEarly(spawn, { open: () => Promise.reject(new Error("no such program")) });
  await Bun.sleep(0);
  failing.discard();
  await expect(failing.open(spawn, { data: () => {}, exit: () => {} })).rejects.toThrow("no such program");
});
