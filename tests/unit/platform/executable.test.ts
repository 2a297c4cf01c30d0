/** Files that cannot be started, as each system sees them. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { darwin } from "../../../src/platform/darwin.ts";
import { startFault } from "../../../src/platform/executable.ts";

const scratch = fs.mkdtempSync(join(tmpdir(), "wsh-start-"));
afterAll(() => fs.rmSync(scratch, { recursive: true }));

let files = 0;
function file(content: string | Uint8Array, mode = 0o755): string {
  const path = join(scratch, String(++files));
  fs.writeFileSync(path, content, { mode });
  return path;
}

const elf = Buffer.from("\x7fELF\x02\x01\x01\0", "latin1");
const machO = Buffer.from([0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1]);
const fat = Buffer.from([0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2]);
const foreign = "is not an executable of this system and has no '#!' line";

test("macOS runs Mach-O and scripts, nothing else", () => {
  expect(startFault(file(machO), darwin.starts.formats)).toBeNull();
  expect(startFault(file(fat), darwin.starts.formats)).toBeNull();
  for (const content of [elf, "echo text\n", "", "#"])
    expect(startFault(file(content), darwin.starts.formats)).toBe(foreign);
  const script = file(`#!${file(machO)}\n`);
  expect(startFault(script, darwin.starts.formats)).toBeNull();
  const other = file(elf);
  expect(startFault(file(`#!${other}\n`), darwin.starts.formats)).toBe(
    `needs the interpreter '${other}', which ${foreign}`,
  );
});

test("Linux may support any format", () => {
  for (const content of [elf, machO, "echo text\n"]) expect(startFault(file(content), null)).toBeNull();
});

test("interpreters are followed, also with blanks and arguments, and never without end", () => {
  const inner = file("#!/bin/sh\n", 0o644);
  for (const line of [`#!${inner}\n`, `#! \t${inner} -x\n`, `#!${inner}`, `#!${file(`#!${inner}\n`)}\n`]) {
    expect(startFault(file(line), null)).toBe(`needs the interpreter '${inner}', which is not executable`);
  }
  const loop = join(scratch, "loop");
  fs.writeFileSync(loop, `#!${loop}\n`, { mode: 0o755 });
  expect(startFault(loop, null)).toBeNull();
  expect(startFault(file("#!relative/sh\n"), null)).toBeNull();
  expect(startFault(file("#!\n"), null)).toBeNull();
});

test("not a file, or missing", () => {
  expect(startFault(scratch)).toBe("is a directory");
  expect(startFault("/dev/null")).toBe("is not a file");
  expect(startFault(`${scratch}/missing`)).toBe("does not exist");
  expect(startFault(`${file("")}/below`)).not.toBeNull();
  expect(startFault(`/${"x".repeat(300)}`)).toBe("cannot be read: ENAMETOOLONG");
});
