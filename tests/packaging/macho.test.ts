/** Executables for Macs start there only if every page has the hash in their signature. */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CS_ADHOC, checkSignature, readMachO } from "../../packaging/macho/code-signature.ts";
import { requireWhole, signForMac } from "../../packaging/macho/release-signature.ts";
import { signAdHoc } from "../../packaging/macho/sign.ts";
import { release } from "../../packaging/release.ts";
import { CODE_BYTES, smallExecutable } from "../support/macho.ts";

test("a signed file is complete, and has the right type", () => {
  const signed = signAdHoc(smallExecutable(64), "wsh");
  const { directory, badPages, faults } = checkSignature(signed);
  expect({ badPages, faults }).toEqual({ badPages: [], faults: [] });
  expect(directory).toMatchObject({
    identifier: "wsh",
    flags: CS_ADHOC,
    codeLimit: CODE_BYTES,
    pages: 4,
    pageBytes: 4096,
  });
  const { signature, linkedit } = readMachO(signed);
  expect(signature.offset + signature.size).toBe(signed.length);
  expect(linkedit.offset + linkedit.size).toBe(signed.length);
  expect(signed.slice(400, CODE_BYTES)).toEqual(smallExecutable(64).slice(400, CODE_BYTES));
});

test("signing again gives the same result", () => {
  const once = signAdHoc(smallExecutable(4096), "wsh");
  expect(signAdHoc(once, "wsh")).toEqual(once);
});

test("a changed byte is found on its page, in load commands, code and the last part of a page", () => {
  for (const [at, page] of [
    [500, 0],
    [5000, 1],
    [CODE_BYTES - 1, 3],
  ] as const) {
    const bytes = signAdHoc(smallExecutable(64), "wsh");
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    expect(checkSignature(bytes).badPages).toEqual([page]);
  }
});

test("a file that is not a signed executable is refused with its error", () => {
  expect(() => checkSignature(new Uint8Array(10))).toThrow("not a 64-bit Mach-O file");
  expect(() => checkSignature(smallExecutable(64))).toThrow("the signature is no embedded signature");
  const longer = new Uint8Array([...smallExecutable(64), 1]);
  expect(() => signAdHoc(longer, "wsh")).toThrow("something stands behind the signature");
});

describe("a release for Macs", () => {
  const compiled = (bytes: Uint8Array) => async (outfile: string) => {
    await Bun.write(outfile, Buffer.from(bytes));
  };
  const inScratch = async (run: (out: string) => Promise<void>): Promise<void> => {
    const scratch = mkdtempSync(join(tmpdir(), "wsh-macho-"));
    try {
      await run(join(scratch, "release"));
    } finally {
      rmSync(scratch, { recursive: true });
    }
  };
  /** Signed, then changed, like Bun's output for Intel Macs. */
  const spoilt = (): Uint8Array => {
    const bytes = signAdHoc(smallExecutable(64), "wsh");
    bytes[5000] = (bytes[5000] ?? 0) ^ 1;
    return bytes;
  };

  test("signs a file with a bad page, and publishes it complete in each package", async () => {
    for (const target of ["darwin-x64", "darwin-arm64"] as const) {
      await inScratch(async (out) => {
        await release([target], compiled(spoilt()), out);
        const bytes: Uint8Array = await Bun.file(join(out, `npm/wsh-${target}/bin/wsh`)).bytes();
        expect(checkSignature(bytes).badPages).toEqual([]);
        expect(bytes.subarray(4096, 8192)).toEqual(spoilt().subarray(4096, 8192));
      });
    }
  });

  test("fails on a file that cannot be signed, and names it", async () => {
    for (const [bytes, why] of [
      [new TextEncoder().encode("#!/bin/sh\n"), "not a 64-bit Mach-O file"],
      [smallExecutable(64), "the signature is no embedded signature"],
      [new Uint8Array([...spoilt(), 1]), "something stands behind the signature"],
    ] as const) {
      await inScratch(async (out) => {
        await expect(release(["darwin-arm64"], compiled(bytes), out)).rejects.toThrow(why);
      });
    }
  });

  test("fails on a single bad page of a published file", () => {
    expect(() => requireWhole("wsh in a.tar.gz", spoilt())).toThrow(
      "wsh in a.tar.gz: no Mac would start it: 1 of 4 pages differ from their hashes (the first is 1)",
    );
    expect(() => requireWhole("wsh", signAdHoc(smallExecutable(64), "wsh"))).not.toThrow();
  });
});

test.skipIf(process.env.WSH_TEST_FULL !== "1")(
  "what Bun compiles for Macs is signed as what it is",
  async () => {
    const scratch = mkdtempSync(join(tmpdir(), "wsh-macho-"));
    try {
      for (const target of ["darwin-x64", "darwin-arm64"]) {
        const file = join(scratch, target);
        const built = Bun.spawnSync([process.execPath, "run", "build.ts", "--outfile", file, target], {
          stderr: "pipe",
        });
        // Its output on stderr is the progress of a download.
        expect(built.exitCode).toBe(0);
        await signForMac(file);
        const { badPages, faults } = checkSignature(await Bun.file(file).bytes());
        expect({ target, badPages, faults }).toEqual({ target, badPages: [], faults: [] });
      }
    } finally {
      rmSync(scratch, { recursive: true });
    }
  },
  600_000,
);
