/**
 * `wsh script-sandbox`: the process that runs a program sent by an agent (`wsh_script`). The program has its own
 * interpreter (QuickJS, in WebAssembly) with the language and nothing else: its only way out is one function, which
 * asks the server for an operation in the agent's name. Each process runs one program, since it may be killed from
 * outside at any time.
 *
 * Speaks JSON, one message per line (protocol/sandbox.ts). Memory and computing time are limited here, total time by
 * the server.
 */
import variant from "@jitl/quickjs-wasmfile-release-sync";
import wasm from "@jitl/quickjs-wasmfile-release-sync/wasm" with { type: "file" };
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSDeferredPromise,
  type QuickJSHandle,
  type QuickJSRuntime,
} from "quickjs-emscripten-core";
import type { FromSandbox, ToSandbox } from "../protocol/sandbox.ts";
import { languageText } from "./bundles.ts";
import { withNotedPromises } from "./noted-promises.ts";
import { asJavaScript, type ProgramSource, sourceOf } from "./sandbox-source.ts";

/** Initial and maximum memory of a program, in pages of 64 KiB: 16 and 128 MiB. */
const INITIAL_PAGES = 256;
const MAX_PAGES = 2_048;
/** Maximum stack of a program, in bytes. */
const STACK_BYTES = 512 * 1024;
/** Longest computation without a wait, in ms. */
const COMPUTE_MS = 5_000;
/** Maximum calls that wait for answers at the same time. */
const MAX_CALLS = 64;

export async function runSandbox(): Promise<void> {
  const [text, wasmBinary] = await Promise.all([languageText(), Bun.file(wasm).arrayBuffer()]);
  // The interpreter's own limit does not include typed arrays and long strings.
  const wasmMemory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAX_PAGES });
  const module = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmBinary, wasmMemory }));
  let sandbox: Sandbox | null = null;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of Bun.stdin.stream()) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const message: ToSandbox = JSON.parse(line);
      if (message.kind === "answer") sandbox?.answer(message);
      else sandbox = new Sandbox(module.newRuntime(), message, text);
    }
  }
}

function send(message: FromSandbox): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/**
 * The program can use the definitions below and those of the language. Evaluates to the function that fails the program
 * if one of its promises has failed and nothing awaits it. `await` and `then` read a promise's constructor, which
 * reveals awaited promises; a program's promises come from async functions (noted-promises.ts), from Promise, from
 * then, and from the language.
 */
const prelude = `
"use strict";
(() => {
  const ask = __ask, print = __print, step = __step, end = __end;
  const Native = Promise, then = Native.prototype.then, awaited = new WeakSet(), failed = new Map();
  let isOwn = false, isFailing = false, finished = "";
  const noted = (given) => {
    if (typeof given === "function") return function (...args) { return noted(given.apply(this, args)); };
    // Inside of then below, a subclass makes another one.
    if (isOwn || !(given instanceof Native)) return given;
    isOwn = true;
    then.call(given, undefined, (reason) => { if (!awaited.has(given)) failed.set(given, reason); });
    isOwn = false;
    return given;
  };
  const fail = async (error) => {
    if (isFailing) return;
    isFailing = true;
    await closeAll().catch(() => {});
    const isError = error instanceof Error;
    const isOurs = error instanceof TerminalFailure || error instanceof WshError;
    const text = isOurs ? error.message : isError ? printedText(error) : "the program threw " + printedText(error);
    end("", text, isError ? error.stack ?? "" : "");
  };
  for (const name of Object.getOwnPropertyNames(Terminal.prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(Terminal.prototype, name);
    if (typeof value === "function" && name !== "constructor") Terminal.prototype[name] = noted(value);
  }
  for (const name of ["__ask", "__print", "__step", "__end", "Terminal"]) delete globalThis[name];
  const call = async (name, input, session) => {
    const answer = JSON.parse(await ask(name, JSON.stringify(input), session ?? ""));
    if (answer.error !== undefined) throw WshError.fromBody(answer.error);
    return answer.result;
  };
  const log = (...values) => print(values.map(printedText).join(" "));
  const watch = async (terminal, { text, stack }) => {
    step(text, stack);
    return async () => {};
  };
  globalThis.wsh = language(call, { watch, doubt: (text) => print("warning: " + text) });
  for (const name in wsh) wsh[name] = noted(wsh[name]);
  const { closeAll } = Object.assign(wsh, { wsh, TerminalFailure });
  Object.defineProperty(globalThis, "__noted", { value: noted });
  const awaits = (promise) => void (awaited.add(promise), failed.delete(promise));
  Native.prototype.then = noted(function (...args) {
    awaits(this);
    return then.apply(this, args);
  });
  Object.defineProperty(Native.prototype, "constructor", {
    get() {
      if (!isOwn) awaits(this);
      return Native;
    },
  });
  globalThis.Promise = new Proxy(Native, {
    construct: (target, given, made) => noted(Reflect.construct(target, given, made === Promise ? target : made)),
  });
  globalThis.open = wsh.open;
  globalThis.console = { log, info: log, warn: log, error: log, debug: log };
  globalThis.print = log;
  globalThis.__run = async (main, session) => {
    delete globalThis.__run;
    try {
      if (session !== "") globalThis.t = await wsh.open(session);
      const value = await main();
      await closeAll();
      finished = printedJson({ value });
    } catch (error) {
      await fail(error);
    }
  };
  return () => {
    for (const reason of failed.values()) {
      failed.clear();
      void fail(reason);
      break;
    }
    if (finished !== "" && !isFailing) end(finished, "", "");
  };
})();
`;

class Sandbox {
  private readonly vm: QuickJSContext;
  /** Fails or ends the program after a turn (`prelude`). */
  private readonly afterTurn: QuickJSHandle;
  private readonly calls = new Map<number, QuickJSDeferredPromise>();
  private readonly source: ProgramSource;
  private nextCall = 1;
  /** Time at which the current computation is interrupted. */
  private computeDeadline = Number.POSITIVE_INFINITY;
  private isOver = false;
  /** The program exceeded COMPUTE_MS: nothing that it sends from then on is its answer. */
  private isTooLong = false;

  constructor(
    private readonly runtime: QuickJSRuntime,
    { code, session = "" }: Extract<ToSandbox, { kind: "begin" }>,
    text: string,
  ) {
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => {
      this.isTooLong ||= performance.now() > this.computeDeadline;
      return this.isTooLong;
    });
    this.vm = runtime.newContext();
    this.define();
    this.evaluate(text, "wsh");
    this.afterTurn = this.vm.unwrapResult(this.vm.evalCode(prelude, "wsh", { type: "global" }));
    this.source = sourceOf(code);
    if (this.compile()) this.turn(() => this.evaluate(`__run(__main, ${JSON.stringify(session)})`, "wsh"));
  }

  answer({ id, result, error }: Extract<ToSandbox, { kind: "answer" }>): void {
    const call = this.calls.get(id);
    if (call === undefined || this.isOver) return;
    this.calls.delete(id);
    this.turn(() => {
      const text = this.vm.newString(JSON.stringify(error === undefined ? { result } : { error }));
      call.resolve(text);
      text.dispose();
    });
  }

  private define(): void {
    const { vm } = this;
    const functions = {
      __ask: vm.newFunction("ask", (...given) => {
        const [operation = "", input = "", session = ""] = given.map((each) => vm.getString(each));
        if (this.calls.size >= MAX_CALLS) throw new Error(`${MAX_CALLS} calls are already waiting for their answers`);
        const call = vm.newPromise();
        const id = this.nextCall++;
        this.calls.set(id, call);
        send({ kind: "call", id, operation, input: JSON.parse(input), ...(session === "" ? {} : { session }) });
        return call.handle;
      }),
      __print: vm.newFunction("print", (text) => send({ kind: "print", text: vm.getString(text) })),
      __step: vm.newFunction("step", (text, stack) => {
        send({ kind: "step", text: vm.getString(text), line: this.source.lineIn(vm.getString(stack)) });
      }),
      __end: vm.newFunction("end", (...given) => {
        const [value = "", message = "", stack = ""] = given.map((each) => vm.getString(each));
        if (value !== "" && !this.isTooLong) this.finish({ kind: "end", ...JSON.parse(value) });
        else this.fail(message, this.source.lineIn(stack));
      }),
    };
    for (const [name, handle] of Object.entries(functions)) {
      vm.setProp(vm.global, name, handle);
      handle.dispose();
    }
  }

  /** Compiles the program as a function; if it is not JavaScript, as TypeScript. @returns false: it has failed */
  private compile(): boolean {
    const first = this.compileError(this.source.javaScript);
    if (first === null) return true;
    let second = first;
    try {
      second = this.compileError(asJavaScript(this.source)) ?? "";
    } catch (thrown) {
      this.fail(thrown instanceof Error ? thrown.message : String(thrown), this.source.lineIn(first));
      return false;
    }
    if (second === "") return true;
    this.fail(first.split("\n")[0] ?? "", this.source.lineIn(first));
    return false;
  }

  /** Compiles a program. @returns the error and its stack; null: it has compiled */
  private compileError(javaScript: string): string | null {
    const body = withNotedPromises(javaScript);
    const result = this.vm.evalCode(`globalThis.__main = async () => {${body}\n};`, "script", { type: "global" });
    if (result.error === undefined) {
      result.value.dispose();
      return null;
    }
    const { name = "Error", message = "", stack = "" } = this.vm.dump(result.error);
    result.error.dispose();
    return `${name}: ${message}\n${stack}`;
  }

  private evaluate(code: string, name: string): void {
    this.vm.unwrapResult(this.vm.evalCode(code, name, { type: "global" })).dispose();
  }

  /**
   * Runs everything that is ready until all of it waits. A program that computes for too long or exceeds its memory
   * fails.
   */
  private turn(act: () => void): void {
    this.computeDeadline = performance.now() + COMPUTE_MS;
    try {
      act();
      this.runJobs();
      if (!this.isOver) this.vm.unwrapResult(this.vm.callFunction(this.afterTurn, this.vm.undefined)).dispose();
      this.runJobs();
    } catch (thrown) {
      const { message, stack = "" } = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.fail(message, this.source.lineIn(stack));
    } finally {
      this.computeDeadline = Number.POSITIVE_INFINITY;
    }
    if (!this.isOver && this.calls.size === 0) this.fail("the program waits for something that can never happen", null);
  }

  private runJobs(): void {
    const result = this.runtime.executePendingJobs();
    if (result.error === undefined) return;
    const { name = "Error", message = "", stack = "" } = this.vm.dump(result.error);
    result.error.dispose();
    this.fail(`${name}: ${message}`, this.source.lineIn(String(stack)));
  }

  private fail(message: string, line: number | null): void {
    const reason = this.isTooLong
      ? `it computed for ${COMPUTE_MS / 1000} s without waiting for anything`
      : message === "null"
        ? "null was thrown, as when memory is exhausted"
        : message;
    this.finish({ kind: "failed", message: reason, line });
  }

  /** Sends the program's end, once. */
  private finish(message: FromSandbox): void {
    if (this.isOver) return;
    this.isOver = true;
    send(message);
  }
}
