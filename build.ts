/**
 * Builds the executable: `bun run build.ts` makes dist/wsh for this machine; `bun run build.ts --release [TARGET…]` makes
 * an archive with a checksum for each target under dist/release.
 *
 * Compiled binaries must not read `.env` or `bunfig.toml` (whose preload is code) of the directory that they happen to
 * be started in: both are switched off.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import manifest from "./package.json" with { type: "json" };

const root = import.meta.dir;
const dist = join(root, "dist");

/** The PTY's reader runs in a worker: a file of its own inside the executable. */
const entrypoints = ["src/main.ts", "src/pty/reader-worker.ts"].map((path) => join(root, path));

const releaseTargets = ["linux-x64", "linux-arm64", "linux-x64-musl", "darwin-arm64", "darwin-x64"] as const;
type ReleaseTarget = (typeof releaseTargets)[number];

async function compile(outfile: string, target?: ReleaseTarget): Promise<void> {
  const result = await Bun.build({
    entrypoints,
    minify: true,
    bytecode: true,
    format: "esm",
    splitting: true,
    compile: {
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(target === undefined ? {} : { target: `bun-${target}` as Bun.Build.CompileTarget }),
    },
  });
  for (const log of result.logs) console.error(String(log));
  if (!result.success) throw new Error(`building ${outfile} failed`);
}

async function release(targets: readonly ReleaseTarget[]): Promise<void> {
  const out = join(dist, "release");
  await rm(out, { recursive: true, force: true });
  const sums: string[] = [];
  for (const target of targets) {
    const name = `wsh-${manifest.version}-${target}`;
    const folder = join(out, name);
    await mkdir(folder, { recursive: true });
    await compile(join(folder, "wsh"), target);
    for (const file of ["README.md", "LICENSE"]) await Bun.write(join(folder, file), Bun.file(join(root, file)));
    const archive = `${name}.tar.gz`;
    const packed = Bun.spawnSync(["tar", "-czf", join(out, archive), "-C", out, name], { stderr: "inherit" });
    if (!packed.success) throw new Error(`packing ${archive} failed`);
    await rm(folder, { recursive: true });
    const digest = new Bun.CryptoHasher("sha256").update(await Bun.file(join(out, archive)).bytes()).digest("hex");
    sums.push(`${digest}  ${archive}`);
    console.log(`dist/release/${archive}`);
  }
  await Bun.write(join(out, "SHA256SUMS"), `${sums.join("\n")}\n`);
}

function isReleaseTarget(text: string): text is ReleaseTarget {
  return releaseTargets.some((target) => target === text);
}

const [mode, ...rest] = process.argv.slice(2);
if (mode === undefined) {
  await compile(join(dist, "wsh"));
  console.log("dist/wsh");
} else if (mode === "--release") {
  const unknown = rest.find((text) => !isReleaseTarget(text));
  if (unknown !== undefined) {
    console.error(`unknown target '${unknown}'; known: ${releaseTargets.join(", ")}`);
    process.exit(2);
  }
  await release(rest.length > 0 ? rest.filter(isReleaseTarget) : releaseTargets);
} else {
  console.error("usage: bun run build.ts [--release [TARGET…]]");
  process.exit(2);
}
