/** What a release does about the signature of an executable for Macs. */
import { chmod } from "node:fs/promises";
import { checkSignature } from "./code-signature.ts";
import { signAdHoc } from "./sign.ts";

const IDENTIFIER = "wsh";

/**
 * Leaves a file that a Mac starts: signs it anew where the present signature is not that of this file.
 * @throws Error naming the file and what is wrong, when it could not be signed
 */
export async function signForMac(file: string): Promise<void> {
  const bytes = await Bun.file(file).bytes();
  if (faultsOf(file, bytes).length > 0) {
    await Bun.write(file, signAdHoc(bytes, IDENTIFIER));
    await chmod(file, 0o755);
  }
  // What is on the disk, not what was meant to be there.
  requireWhole(file, await Bun.file(file).bytes());
}

/** @throws Error naming the file and what is wrong, where a Mac would not start these bytes of it */
export function requireWhole(file: string, bytes: Uint8Array): void {
  const faults = faultsOf(file, bytes);
  if (faults.length > 0) throw new Error(`${file}: no Mac would start it: ${faults.join("; ")}`);
}

function faultsOf(file: string, bytes: Uint8Array): string[] {
  try {
    const { badPages, faults, directory } = checkSignature(bytes);
    const pages = `${badPages.length} of ${directory.pages} pages differ from their hashes (the first is ${badPages[0]})`;
    return [...(badPages.length > 0 ? [pages] : []), ...faults];
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}
