/**
 * Builds the executable: `bun run build.ts` makes dist/wsh for this machine (or FILE, for TARGET);
 * `bun run build.ts --release [TARGET…]` makes everything that is published (packaging/release.ts).
 *
 * Compiled binaries must not read `.env` or `bunfig.toml` (whose preload is code) of the directory that they happen to
 * be started in: both are switched off.
 */
import { join } from "node:path";
import { buildPage, pagePlugin } from "./packaging/page.ts";
import { scriptPlugin } from "./packaging/script-bundles.ts";

const root = import.meta.dir;

const entrypoints = [join(root, "src/main.ts")];

/** The browser page and what runs scripts are the same for every target: bundled once. */
let page: ReturnType<typeof buildPage> | undefined;
let scripts: ReturnType<typeof scriptPlugin> | undefined;

async function compile(outfile: string, target?: string): Promise<void> {
  const isLinux = target === undefined ? process.platform === "linux" : target.startsWith("linux");
  page ??= buildPage(join(root, "dist/web"));
  scripts ??= scriptPlugin();
  const result = await Bun.build({
    entrypoints,
    minify: true,
    bytecode: true,
    format: "esm",
    splitting: true,
    plugins: [pagePlugin(await page), await scripts],
    compile: {
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
      // Bun ends at once where the path of its directory cannot be found: in one that was deleted, too.
      ...(isLinux ? { execArgv: ["--cwd=/proc/self/cwd"] } : {}),
      ...(target === undefined ? {} : { target: `bun-${target}` as Bun.Build.CompileTarget }),
    },
  });
  for (const log of result.logs) console.error(String(log));
  if (!result.success) throw new Error(`building ${outfile} failed`);
}

function usage(message: string): never {
  console.error(`${message}\nusage: bun run build.ts [--outfile FILE [TARGET] | --release [TARGET…]]`);
  process.exit(2);
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === undefined || mode === "--outfile") {
  const outfile = mode === undefined ? join(root, "dist/wsh") : (rest[0] ?? usage("--outfile needs a file"));
  await compile(outfile, rest[1]);
  console.log(mode === undefined ? "dist/wsh" : outfile);
} else if (mode === "--release") {
  // Loaded only here: a build needs none of the packages that releasing does.
  const { release, releaseTargets } = await import("./packaging/release.ts");
  const chosen = releaseTargets.filter((target) => rest.length === 0 || rest.includes(target));
  const unknown = rest.find((text) => !releaseTargets.some((target) => target === text));
  if (unknown !== undefined) usage(`unknown target '${unknown}'; known: ${releaseTargets.join(", ")}`);
  await release(chosen, compile, join(root, "dist/release"));
} else {
  usage(`unknown argument '${mode}'`);
}
