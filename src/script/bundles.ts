/**
 * The texts that other engines run: the language for the sandbox, and the runtime for the Bun in the executable. Here
 * they are bundled from the source; in the executable, the build replaces this file with the bundled texts
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
