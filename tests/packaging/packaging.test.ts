/**
 * The published files of a version work after installation: archive, install script, npm packages, bundle, manual page. A
 * small stand-in replaces the executable, since compressing the real one takes a minute; WSH_TEST_FULL uses that.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import manifest from "../../package.json" with { type: "json" };
import { formula } from "../../packaging/homebrew.ts";
import { release, releaseTargets } from "../../packaging/release.ts";
import { manual } from "../../scripts/man.ts";
import { anyOf, testWith } from "../support/programs.ts";
import { finished } from "../support/wsh.ts";

const root = join(import.meta.dir, "../..");
const target = releaseTargets.find((name) => name === `${process.platform}-${process.arch}`) ?? "linux-x64";
const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-release-"));
const out = join(dir, "release");
let server: Bun.Server<undefined>;

const standIn = `#!/bin/sh\n[ "$1" = --version ] && echo "wsh ${manifest.version}" && exit 0\nexit 2\n`;

async function executable(outfile: string): Promise<void> {
  if (process.env.WSH_TEST_FULL === "1") fs.copyFileSync(join(root, "dist/wsh"), outfile);
  else fs.writeFileSync(outfile, standIn);
  fs.chmodSync(outfile, 0o755);
}

function run(command: readonly string[], env: Record<string, string> = {}): { code: number; text: string } {
  const result = Bun.spawnSync([...command], { cwd: dir, env: { PATH: process.env.PATH ?? "", HOME: dir, ...env } });
  return { code: result.exitCode, text: result.stdout.toString() + result.stderr.toString() };
}

beforeAll(async () => {
  await release([target], executable, out);
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const file = Bun.file(join(out, new URL(request.url).pathname));
      return file.size > 0 ? new Response(file) : new Response(null, { status: 404 });
    },
  });
}, 180_000);

afterAll(async () => {
  await server.stop(true);
  fs.rmSync(dir, { recursive: true, force: true });
});

test("install.sh installs the executable of this platform", async () => {
  const installed = Bun.spawn(["sh", join(out, "install.sh")], {
    cwd: dir,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: dir,
      WSH_INSTALL_DIR: join(dir, "bin"),
      WSH_BASE_URL: server.url.origin,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const { stdout: text, stderr: err, code } = await finished(installed);
  expect({ err, code }).toEqual({ err: "", code: 0 });
  expect(text).toContain(`installed wsh ${manifest.version}`);
  expect(run([join(dir, "bin/wsh"), "--version"]).text).toBe(`wsh ${manifest.version}\n`);
});

test("install.sh refuses an archive whose checksum is wrong, and changes nothing", async () => {
  const mirror = join(dir, "mirror");
  fs.mkdirSync(mirror);
  const name = `wsh-${manifest.version}-${target}.tar.gz`;
  fs.writeFileSync(join(mirror, name), "not the archive");
  fs.copyFileSync(join(out, "SHA256SUMS"), join(mirror, "SHA256SUMS"));
  const { code, text } = run(["sh", join(out, "install.sh")], {
    WSH_BASE_URL: `file://${mirror}`,
    WSH_INSTALL_DIR: join(dir, "bad"),
  });
  expect({ code, text }).toEqual({
    code: 1,
    text: `install.sh: the checksum of ${name} is wrong; nothing was installed\n`,
  });
  expect(fs.existsSync(join(dir, "bad"))).toBe(false);
});

test("install.sh without an address names the variable to set", () => {
  const { code, text } = run(["sh", join(root, "packaging/install.sh")]);
  expect(code).toBe(1);
  expect(text).toContain("set WSH_BASE_URL");
});

testWith("npm")(
  "the npm packages install and run",
  () => {
    const npm = join(out, "npm");
    const tarballs = fs.readdirSync(npm).map((name) => {
      const packed = run(["npm", "pack", "--silent", join(npm, name)], { npm_config_cache: join(dir, "npm-cache") });
      return join(dir, packed.text.trim().split("\n").at(-1) ?? "");
    });
    const app = join(dir, "app");
    fs.mkdirSync(app);
    fs.writeFileSync(join(app, "package.json"), "{}");
    // The platform's package first, then the one that looks for it, which must not be downloaded from anywhere else.
    const sorted = tarballs.sort((a, b) => b.length - a.length);
    for (const tarball of sorted) {
      const done = Bun.spawnSync(
        ["npm", "install", "--offline", "--no-audit", "--no-fund", "--omit=optional", tarball],
        {
          cwd: app,
          env: { PATH: process.env.PATH ?? "", HOME: dir, npm_config_cache: join(dir, "npm-cache") },
        },
      );
      expect(done.stderr.toString()).not.toContain("ERR!");
    }
    const wsh = join(app, "node_modules/.bin/wsh");
    expect(run([wsh, "--version"]).text).toBe(`wsh ${manifest.version}\n`);
    expect(run([wsh, "no-such-command"]).code).toBe(2);
  },
  120_000,
);

test("the bundle for AI hosts contains the executable and starts it as an MCP server", async () => {
  const files = unzipSync(await Bun.file(join(out, `wsh-${manifest.version}-${target}.mcpb`)).bytes());
  const bundle = JSON.parse(new TextDecoder().decode(files["manifest.json"]));
  expect(bundle.server.mcp_config.args).toEqual(["mcp"]);
  expect(files[bundle.server.entry_point]?.length).toBe(fs.statSync(join(out, `npm/wsh-${target}/bin/wsh`)).size);
});

test("server.json names the version and the npm package; the bundle has a checksum", async () => {
  const entry = await Bun.file(join(out, "server.json")).json();
  const sums = await Bun.file(join(out, "SHA256SUMS")).text();
  expect(entry.version).toBe(manifest.version);
  expect(entry.description.length).toBeLessThanOrEqual(100);
  expect(entry.packages[0]).toMatchObject({ registryType: "npm", identifier: "wsh", version: manifest.version });
  // Bundles are listed once their address is known.
  expect(entry.packages).toHaveLength(1);
  expect(sums).toContain(`wsh-${manifest.version}-${target}.mcpb`);
});

const archives = ["darwin-arm64", "darwin-x64", "linux-x64"].map((target, index) => ({
  target,
  file: `wsh-1.2.3-${target}.tar.gz`,
  digest: String(index).repeat(64),
}));
const facts = {
  description: 'A "terminal" #{multiplexer}',
  version: "1.2.3",
  license: "MIT",
  baseUrl: "https://x.test/v1",
};

test("the Homebrew formula has each platform's archive with its checksum, and no platform without one", () => {
  const text = formula({ ...facts, archives });
  for (const { file, digest } of archives) {
    expect(text).toContain(`      url "https://x.test/v1/${file}"\n      sha256 "${digest}"\n`);
  }
  expect([...text.matchAll(/on_(?:macos|linux|arm|intel) do/g)].map(([place]) => place)).toEqual([
    ...["on_macos do", "on_arm do", "on_intel do"],
    ...["on_linux do", "on_intel do"],
  ]);
  expect(text).toContain('desc "A \\"terminal\\" \\#{multiplexer}"');
});

testWith("ruby")("the Homebrew formula is Ruby", () => {
  const path = join(dir, "wsh.rb");
  fs.writeFileSync(path, formula({ ...facts, archives }));
  expect(run(["ruby", "-c", path])).toEqual({ code: 0, text: "Syntax OK\n" });
});

const full = process.env.WSH_TEST_FULL === "1";
const emulator = full ? anyOf("qemu-aarch64-static", "qemu-aarch64") : null;
/** Debian's package libc6-arm64-cross. */
const libraries = "/usr/aarch64-linux-gnu";
const emulates = emulator !== null && fs.existsSync(join(libraries, "lib/ld-linux-aarch64.so.1"));
if (emulator !== null && !emulates)
  console.error("SKIPPED: libc6-arm64-cross is not installed: no linux-arm64 executable runs");

test.skipIf(!emulates)(
  "the linux-arm64 executable answers",
  () => {
    const outfile = join(dir, "wsh-arm64");
    const built = Bun.spawnSync([process.execPath, "run", "build.ts", "--outfile", outfile, "linux-arm64"], {
      cwd: root,
    });
    expect(built.stderr.toString()).not.toContain("error");
    expect(run([emulator ?? "", "-L", libraries, outfile, "--version"]).text).toBe(`wsh ${manifest.version}\n`);
  },
  180_000,
);

test("the manual page describes this version", async () => {
  expect(await Bun.file(join(root, "docs/wsh.1")).text()).toBe(await manual());
});
