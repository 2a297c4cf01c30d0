/** The language and the runtime of scripts, each bundled into one text, and embedded in the executable. */
import { join } from "node:path";
import type { BunPlugin } from "bun";

const root = join(import.meta.dir, "../src");

/** For an interpreter that has nothing but the language: a script that sets the variable `language`. */
export function bundleLanguage(): Promise<string> {
  return bundle("client/terminal/sandboxed.ts", "browser", "iife");
}

/** For Bun: a module. */
export function bundleRuntime(): Promise<string> {
  return bundle("script/runtime.ts", "bun", "esm");
}

async function bundle(entry: string, target: "browser" | "bun", format: "iife" | "esm"): Promise<string> {
  const result = await Bun.build({ entrypoints: [join(root, entry)], target, format, minify: true });
  const [output] = result.outputs;
  if (!result.success || output === undefined) throw new Error(`bundling ${entry} failed: ${result.logs.join("\n")}`);
  return output.text();
}

/** Puts the texts in the place of what makes them. */
export async function scriptPlugin(): Promise<BunPlugin> {
  const [language, runtime] = await Promise.all([bundleLanguage(), bundleRuntime()]);
  const contents = `export async function languageText() { return ${JSON.stringify(language)}; }
export async function runtimeText() { return ${JSON.stringify(runtime)}; }
`;
  return {
    name: "scripts",
    setup(build) {
      build.onLoad({ filter: /src\/script\/bundles\.ts$/ }, () => ({ contents, loader: "js" }));
    },
  };
}
