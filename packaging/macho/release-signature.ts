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
  if (isWhole(await Bun.file(file).bytes())) return;
  const signed = signAdHoc(await Bun.file(file).bytes(), IDENTIFIER);
  const { badPages, faults } = checkSignature(signed);
  if (badPages.length + faults.length > 0) {
    throw new Error(`${file}: ${badPages.length} pages differ from their hashes (${badPages.slice(0, 3)}…); ${faults}`);
  }
  await Bun.write(file, signed);
  await chmod(file, 0o755);
}

function isWhole(bytes: Uint8Array): boolean {
  const { badPages, faults } = checkSignature(bytes);
  return badPages.length === 0 && faults.length === 0;
}
