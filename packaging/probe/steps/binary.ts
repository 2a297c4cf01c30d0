/** Step 1: the executable is whole, and starts. */
import manifest from "../../../package.json" with { type: "json" };
import { program } from "../../../tests/support/wsh-program.ts";
import { CS_ADHOC, checkSignature } from "../../macho/code-signature.ts";
import { type Checks, require, Skipped } from "../report.ts";

/** Of a 64-bit Mach-O file for a little-endian machine. */
const MACHO_MAGIC = 0xfeedfacf;

export async function binary(checks: Checks): Promise<void> {
  const [file = ""] = program;

  await checks.check("every page has the hash that the signature gives it", async () => {
    const bytes = await Bun.file(file).bytes();
    const isMachO =
      bytes.length >= 4 && new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) === MACHO_MAGIC;
    if (!isMachO) throw new Skipped(`${file} is no executable for Macs`);
    const { directory, badPages, faults } = checkSignature(bytes);
    const facts = {
      pages: directory.pages,
      badPages: badPages.length,
      faults,
      adHoc: (directory.flags & CS_ADHOC) !== 0,
    };
    require(badPages.length === 0 && faults.length === 0, "the signature is of another file", facts);
    return facts;
  });

  await checks.check("codesign agrees", async () => {
    if (Bun.which("codesign") === null) throw new Skipped("there is no codesign");
    const { exitCode, stderr } = Bun.spawnSync(["codesign", "--verify", "--strict", "--verbose=2", file]);
    require(exitCode === 0, stderr.toString().trim());
    return {};
  });

  await checks.check("--version answers", async () => {
    const started = performance.now();
    const { exitCode, signalCode, stdout, stderr } = Bun.spawnSync([...program, "--version"]);
    const facts = { exitCode, signalCode, stderr: stderr.toString().slice(0, 500), ms: performance.now() - started };
    require(stdout.toString() === `wsh ${manifest.version}\n`, `it says ${JSON.stringify(stdout.toString())}`, facts);
    return { ms: Math.round(facts.ms) };
  });
}
