/**
 * The texts that other engines run: the language for the sandbox, and the runtime for the Bun in the executable. Made
 * here from the source; in the executable the build has put the texts in the place of this file
 * (packaging/script-bundles.ts).
 */

/** The language, as an expression that makes it: `(globalThis.language)`. */
export async function languageText(): Promise<string> {
  const { bundleLanguage } = await import("../../packaging/script-bundles.ts");
  return bundleLanguage();
}

export async function runtimeText(): Promise<string> {
  const { bundleRuntime } = await import("../../packaging/script-bundles.ts");
  return bundleRuntime();
}
