/** Parsing of libproc's bytes, and the resulting facts of programs on macOS. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  decodeBsdInfo,
  decodeCwd,
  decodeProcArgs,
  decodeTaskInfo,
  type Libproc,
} from "../../../src/platform/darwin/libproc.ts";
import { LibprocProcesses } from "../../../src/platform/darwin/processes.ts";
import { readForeground, readTerminalReader } from "../../../src/platform/foreground.ts";
import { usePlatform } from "../../../src/platform/platform.ts";
import type { RunState } from "../../../src/platform/port.ts";
import { procArgsBytes, structBytes } from "../../support/fake-darwin/libproc-bytes.ts";
import { fakeDarwin } from "../../support/fake-darwin/platform.ts";
import { until } from "../../support/until.ts";

const zsh = structBytes("proc_bsdinfo", {
  pbi_status: 2,
  pbi_pid: 501,
  pbi_ppid: 400,
  pbi_comm: "zsh",
  pbi_name: "zsh",
  pbi_pgid: 501,
  e_tdev: 0x10000003,
  e_tpgid: 777,
  pbi_start_tvsec: 1_700_000_000n,
  pbi_start_tvusec: 123_456n,
});

/** Bytes at an offset, little-endian. */
function at(bytes: Uint8Array, offset: number, hex: string): void {
  expect(Buffer.from(bytes.subarray(offset, offset + hex.length / 2)).toString("hex")).toBe(hex);
}

describe("struct proc_bsdinfo", () => {
  test("has the size and offsets that the kernel writes", () => {
    expect(zsh).toHaveLength(136);
    at(zsh, 4, "02000000");
    at(zsh, 12, "f5010000");
    at(zsh, 48, "7a736800");
    at(zsh, 108, "03000010");
    at(zsh, 112, "09030000");
    at(zsh, 120, "00f1536500000000");
  });

  test("reports the holder of each terminal", () => {
    expect(decodeBsdInfo(zsh)).toEqual({
      pid: 501,
      ppid: 400,
      name: "zsh",
      state: "alive",
      group: 501,
      tty: 0x10000003,
      foreground: 777,
      started: 1_700_000_000_123_456,
    });
  });

  const statuses: readonly (readonly [number, RunState])[] = [
    [1, "alive"],
    [3, "alive"],
    [4, "stopped"],
    [5, "ended"],
  ];
  test.each(statuses)("status %p is %p", (pbi_status, state) => {
    expect(decodeBsdInfo(structBytes("proc_bsdinfo", { pbi_status }))?.state).toBe(state);
  });

  test("a process without a terminal has none, and one without a registered name its short one", () => {
    const info = decodeBsdInfo(structBytes("proc_bsdinfo", { e_tdev: 0xffffffff, e_tpgid: -1, pbi_comm: "launchd" }));
    expect(info).toMatchObject({ tty: 0, foreground: -1, name: "launchd" });
  });

  test("a name that fills its field ends with it", () => {
    const bytes = structBytes("proc_bsdinfo", { pbi_name: "n".repeat(31) });
    bytes[64 + 31] = 0x6e;
    expect(decodeBsdInfo(bytes)?.name).toBe("n".repeat(32));
  });

  test("fewer bytes give nothing", () => {
    expect(decodeBsdInfo(zsh.subarray(0, 135))).toBeNull();
    expect(decodeBsdInfo(new Uint8Array())).toBeNull();
  });
});

test("struct proc_taskinfo has threads, and how many run", () => {
  const bytes = structBytes("proc_taskinfo", { pti_threadnum: 9, pti_numrunning: 2 });
  expect(bytes).toHaveLength(96);
  at(bytes, 84, "0900000002000000");
  expect(decodeTaskInfo(bytes)).toEqual({ threads: 9, running: 2 });
  expect(decodeTaskInfo(bytes.subarray(1))).toBeNull();
});

test("struct proc_vnodepathinfo has the directory", () => {
  const bytes = structBytes("proc_vnodepathinfo", { "pvi_cdir.vip_path": "/Users/zoë/wörk" });
  expect(bytes).toHaveLength(2352);
  at(bytes, 152, "2f5573657273");
  expect(decodeCwd(bytes)).toBe("/Users/zoë/wörk");
  expect(decodeCwd(structBytes("proc_vnodepathinfo", {}))).toBeNull();
  expect(decodeCwd(bytes.subarray(0, 1176))).toBeNull();
});

describe("KERN_PROCARGS2", () => {
  test("has the executable and the arguments; the environment is left out", () => {
    const bytes = procArgsBytes("/bin/zsh", ["-zsh", "", "a b"], ["HOME=/Users/zoë"]);
    expect(decodeProcArgs(bytes)).toEqual({ executable: "/bin/zsh", args: ["-zsh", "", "a b"] });
  });

  test("a path of any length is padded in its own way", () => {
    for (let length = 1; length < 20; length++) {
      const executable = `/${"x".repeat(length)}`;
      expect(decodeProcArgs(procArgsBytes(executable, ["x"]))).toEqual({ executable, args: ["x"] });
    }
  });

  test("truncated or empty data gives the available part, or nothing", () => {
    const bytes = procArgsBytes("/bin/ls", ["ls", "-l", "/tmp"]);
    expect(decodeProcArgs(bytes.subarray(0, bytes.length - 6))).toEqual({ executable: "/bin/ls", args: ["ls", "-l"] });
    expect(decodeProcArgs(procArgsBytes("", []))).toBeNull();
    expect(decodeProcArgs(new Uint8Array(3))).toBeNull();
    expect(decodeProcArgs(new Uint8Array([255, 255, 255, 255, 0x2f, 0]))).toBeNull();
  });
});

test("a program started through a link is the file behind it", () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "wsh-link-"));
  try {
    const link = path.join(directory, "sh");
    fs.symlinkSync("/bin/sh", link);
    const procArgs = () => procArgsBytes(link, ["sh", "-l"]);
    const processes = new LibprocProcesses({ pidInfo: () => 0, listPids: () => [], procArgs, sessionOf: () => 1 });
    const executable = fs.realpathSync("/bin/sh");
    expect(processes.executable(7)).toBe(executable);
    expect(processes.image(7)).toEqual({ executable, start: "sh\0-l" });
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});

describe("the holder of a terminal", () => {
  const facts = { pbi_status: 2, pbi_pid: 7, pbi_pgid: 7, e_tdev: 3, e_tpgid: 7, pbi_start_tvsec: 100 };
  let now: Readonly<Record<string, number>> | null = facts;
  const libproc: Libproc = {
    pidInfo(_pid, _flavor, into) {
      if (now === null) return 0;
      into.set(structBytes("proc_bsdinfo", now));
      return 136;
    },
    listPids: () => [],
    procArgs: () => null,
    sessionOf: () => 7,
  };
  const processes = new LibprocProcesses(libproc);

  function holds(changed: Readonly<Record<string, number>> | null, first = facts): boolean {
    now = first;
    const holder = processes.holder(7, 3);
    now = changed === null ? null : { ...first, ...changed };
    return holder?.holdsTerminal ?? false;
  }

  test("is a client in the foreground, until it is stopped, in the background, or gone", () => {
    expect(holds({})).toBe(true);
    expect(holds({ pbi_status: 4 })).toBe(false);
    expect(holds({ e_tpgid: 400 })).toBe(false);
    expect(holds({ pbi_status: 5 })).toBe(false);
    expect(holds(null)).toBe(false);
  });

  test("one that never was in the foreground need not be, and another process with its number is another", () => {
    expect(holds({}, { ...facts, e_tpgid: 400 })).toBe(true);
    expect(holds({ pbi_start_tvsec: 101 })).toBe(false);
  });

  test("one of another terminal, or that cannot be seen, is unknown", () => {
    now = facts;
    expect(processes.holder(7, 4)).toBeNull();
    now = null;
    expect(processes.holder(7, 3)).toBeNull();
  });
});

test("a program in a terminal: names, groups, directory and input are known, its reason for waiting is not", async () => {
  using _ = usePlatform(fakeDarwin);
  const output: string[] = [];
  const decoder = new TextDecoder();
  const child = Bun.spawn(["/bin/bash", "--norc", "-i"], {
    cwd: "/usr",
    env: { PS1: "$ ", PATH: process.env.PATH ?? "" },
    terminal: { cols: 80, rows: 24, data: (_terminal, bytes) => void output.push(decoder.decode(bytes)) },
  });
  const { terminal } = child;
  await until("a prompt", () => output.join("").includes("$ "));
  const { processes } = fakeDarwin;
  expect(processes.stat(child.pid)).toMatchObject({ name: "bash", foreground: child.pid, group: child.pid });
  expect(processes.cwd(child.pid)).toBe("/usr");
  expect(processes.executable(child.pid)).toBe(fs.realpathSync("/bin/bash"));
  terminal?.write("sleep 30 | cat\n");
  const facts = await until("the pipeline to be at rest in the foreground", () => {
    const found = readForeground(child.pid);
    const atRest = found?.members.every(({ name, activity }) => name !== "bash" && activity === "hidden");
    return atRest === true && found?.members.length === 2 ? found : null;
  });
  expect(facts.members.map(({ name, args, activity }) => [name, args, activity])).toEqual([
    ["sleep", ["sleep", "30"], "hidden"],
    ["cat", ["cat"], "hidden"],
  ]);
  expect(facts).toMatchObject({ shellGroup: child.pid, unread: 0 });
  terminal?.write("typed ahead\n");
  await until("the line to wait", () => readForeground(child.pid)?.unread === "typed ahead\n".length);
  expect(readTerminalReader(child.pid)).toEqual({ reading: false, unread: "typed ahead\n".length });
  child.kill("SIGKILL");
  await child.exited;
  expect(readForeground(child.pid)).toBeNull();
});

test("a busy loop works, a stopped program is stopped", async () => {
  using _ = usePlatform(fakeDarwin);
  const { processes } = fakeDarwin;
  const child = Bun.spawn(["/bin/sh", "-c", "while :; do :; done"]);
  const activity = () => {
    const stat = processes.stat(child.pid);
    return stat === null ? null : processes.activity(stat, stat.tty, null);
  };
  await until("the loop to work", () => activity() === "working");
  child.kill("SIGSTOP");
  await until("the loop to be stopped", () => activity() === "stopped");
  expect(processes.rest(child.pid)).toBe("stopped");
  child.kill("SIGKILL");
  await child.exited;
});
