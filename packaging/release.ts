/**
 * What is published of a version, all in one directory: an archive and a bundle for AI hosts (MCPB) for each platform,
 * checksums of them, the install script, npm packages, a Homebrew formula, and the MCP registry's server.json. Nothing here knows where it
 * will be published: that is RELEASE_BASE_URL, and who publishes it is RELEASE_NAMESPACE.
 */
import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import manifest from "../package.json" with { type: "json" };
import { type Archive, formula } from "./homebrew.ts";
import { requireWhole, signForMac } from "./macho/release-signature.ts";

export const releaseTargets = ["linux-x64", "linux-arm64", "linux-x64-musl", "darwin-arm64", "darwin-x64"] as const;
export type ReleaseTarget = (typeof releaseTargets)[number];

const root = join(import.meta.dir, "..");
const { version, description, license } = manifest;
/** Files that go with the executable into an archive. */
const companions = ["README.md", "LICENSE", "CHANGELOG.md", "docs/wsh.1"];

/** What the packages are called on npm; the platforms' names follow it. */
const npmName = process.env.RELEASE_NPM_NAME ?? "wsh";
/** Reverse-DNS name of the publisher in the MCP registry. */
const namespace = process.env.RELEASE_NAMESPACE ?? "io.github.wsh";
const baseUrl = process.env.RELEASE_BASE_URL ?? "";

export type Compile = (outfile: string, target: ReleaseTarget) => Promise<void>;

/** Makes everything for the targets in the directory `out`, which is emptied first; prints what it made. */
export async function release(targets: readonly ReleaseTarget[], compile: Compile, out: string): Promise<void> {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const sums: string[] = [];
  const bundles: Archive[] = [];
  const archives: Archive[] = [];
  for (const target of targets) {
    const executable = join(out, "build", target, "wsh");
    await mkdir(join(out, "build", target), { recursive: true });
    await compile(executable, target);
    if (target.startsWith("darwin")) await signForMac(executable);
    const archive = await pack(target, executable, out);
    const bundle = await bundleFor(target, executable, out);
    for (const file of [archive, bundle]) {
      const digest = new Bun.CryptoHasher("sha256").update(await Bun.file(join(out, file)).bytes()).digest("hex");
      sums.push(`${digest}  ${file}`);
      (file === bundle ? bundles : archives).push({ target, file, digest });
      console.log(file);
    }
    await npmPlatform(target, executable, out);
    if (target.startsWith("darwin")) await checkPublished(target, out);
  }
  await Bun.write(join(out, "SHA256SUMS"), `${sums.join("\n")}\n`);
  await installScript(out);
  await npmMain(targets, out);
  await registryEntry(bundles, out);
  if (baseUrl !== "")
    await Bun.write(join(out, "wsh.rb"), formula({ description, version, license, baseUrl, archives }));
  await rm(join(out, "build"), { recursive: true });
}

/** Every executable for Macs as it lies in what is published. @throws Error naming the one that no Mac would start */
async function checkPublished(target: ReleaseTarget, out: string): Promise<void> {
  const name = `wsh-${version}-${target}`;
  const unpacked = Bun.spawnSync(["tar", "-xzOf", join(out, `${name}.tar.gz`), `${name}/wsh`], { stderr: "inherit" });
  requireWhole(`wsh in ${name}.tar.gz`, unpacked.stdout);
  const bundle = unzipSync(await Bun.file(join(out, `${name}.mcpb`)).bytes());
  requireWhole(`wsh in ${name}.mcpb`, bundle["server/wsh"] ?? new Uint8Array());
  const inNpm = join(out, "npm", `${npmName}-${target}`, "bin/wsh");
  requireWhole(inNpm, await Bun.file(inNpm).bytes());
}

async function pack(target: ReleaseTarget, executable: string, out: string): Promise<string> {
  const name = `wsh-${version}-${target}`;
  const folder = join(out, name);
  await mkdir(folder, { recursive: true });
  await Bun.write(join(folder, "wsh"), Bun.file(executable));
  await chmod(join(folder, "wsh"), 0o755);
  for (const file of companions) {
    await Bun.write(join(folder, file.slice(file.lastIndexOf("/") + 1)), Bun.file(join(root, file)));
  }
  const archive = `${name}.tar.gz`;
  const packed = Bun.spawnSync(["tar", "-czf", join(out, archive), "-C", out, name], { stderr: "inherit" });
  if (!packed.success) throw new Error(`packing ${archive} failed`);
  await rm(folder, { recursive: true });
  return archive;
}

/** An MCPB bundle (manifest 0.3, github.com/modelcontextprotocol/mcpb, MANIFEST.md of 2025-12-02). */
async function bundleFor(target: ReleaseTarget, executable: string, out: string): Promise<string> {
  const bundle = {
    manifest_version: "0.3",
    name: "wsh",
    display_name: "wsh",
    version,
    description,
    author: { name: "the wsh authors" },
    license,
    server: {
      type: "binary",
      entry_point: "server/wsh",
      // The host that installs the bundle replaces it.
      mcp_config: { command: "${__dirname}/server/wsh", args: ["mcp"] },
    },
    tools_generated: true,
    prompts_generated: true,
    compatibility: { platforms: [target.startsWith("darwin") ? "darwin" : "linux"] },
  };
  const file = `wsh-${version}-${target}.mcpb`;
  const executableMode = { os: 3, attrs: 0o100755 << 16 } as const;
  const archive = zipSync({
    "manifest.json": new TextEncoder().encode(`${JSON.stringify(bundle, null, 2)}\n`),
    "server/wsh": [await Bun.file(executable).bytes(), executableMode],
  });
  await Bun.write(join(out, file), archive);
  return file;
}

/** npm's own words for a platform, so that it installs only the one package that fits. */
function npmPlatformFields(target: ReleaseTarget): object {
  const [os = "", cpu = "", libc] = target.split("-");
  return { os: [os], cpu: [cpu], ...(os === "linux" ? { libc: [libc ?? "glibc"] } : {}) };
}

async function npmPlatform(target: ReleaseTarget, executable: string, out: string): Promise<void> {
  const folder = join(out, "npm", `${npmName}-${target}`);
  await Bun.write(join(folder, "bin/wsh"), Bun.file(executable));
  await chmod(join(folder, "bin/wsh"), 0o755);
  await writeJson(join(folder, "package.json"), {
    name: `${npmName}-${target}`,
    version,
    description: `wsh for ${target}`,
    license,
    ...npmPlatformFields(target),
    files: ["bin"],
  });
}

async function npmMain(targets: readonly ReleaseTarget[], out: string): Promise<void> {
  const folder = join(out, "npm", npmName);
  await Bun.write(join(folder, "bin/wsh.cjs"), Bun.file(join(root, "packaging/npm-launcher.cjs")));
  for (const file of ["README.md", "LICENSE"]) await Bun.write(join(folder, file), Bun.file(join(root, file)));
  await writeJson(join(folder, "package.json"), {
    name: npmName,
    version,
    description,
    license,
    mcpName: `${namespace}/wsh`,
    bin: { wsh: "bin/wsh.cjs" },
    files: ["bin"],
    optionalDependencies: Object.fromEntries(targets.map((target) => [`${npmName}-${target}`, version])),
  });
}

async function installScript(out: string): Promise<void> {
  const text = await Bun.file(join(root, "packaging/install.sh")).text();
  const path = join(out, "install.sh");
  await Bun.write(path, text.replace("@BASE_URL@", baseUrl).replace("@VERSION@", version));
  await chmod(path, 0o755);
}

/** Metadata for the MCP registry (schema 2025-12-11). Bundles are listed when it is known where they will be. */
async function registryEntry(bundles: readonly { file: string; digest: string }[], out: string): Promise<void> {
  const transport = { type: "stdio" };
  const mcpb = bundles.map(({ file, digest }) => ({
    registryType: "mcpb",
    identifier: `${baseUrl}/${file}`,
    version,
    fileSha256: digest,
    transport,
  }));
  await writeJson(join(out, "server.json"), {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: `${namespace}/wsh`,
    title: "wsh",
    description: "Real terminals for agents: commands with exit codes, waiting, screens, overlays, panels.",
    version,
    packages: [
      {
        registryType: "npm",
        identifier: npmName,
        version,
        transport,
        packageArguments: [{ type: "positional", value: "mcp" }],
      },
      ...(baseUrl === "" ? [] : mcpb),
    ],
  });
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await Bun.write(path, `${JSON.stringify(value, null, 2)}\n`);
}
