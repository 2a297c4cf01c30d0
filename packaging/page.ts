/**
 * The browser page for embedding: `src/web/index.html` with its scripts and styles bundled, the service worker built by
 * itself (it must have a fixed address), the web app manifest and icons; each compressed twice. What is embedded enters
 * the executable through a plugin that replaces `src/server/page/files.ts`.
 */
import fs from "node:fs";
import { basename, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { BunPlugin } from "bun";
import type { PageFile } from "../src/server/page/files.ts";

const root = join(import.meta.dir, "..");
const source = join(root, "src/web");

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  webmanifest: "application/manifest+json",
};

async function bundle(entrypoint: string, outdir: string): Promise<void> {
  const result = await Bun.build({
    entrypoints: [join(source, entrypoint)],
    outdir,
    target: "browser",
    format: "esm",
    minify: true,
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
  });
  for (const log of result.logs) console.error(String(log));
  if (!result.success) throw new Error(`building ${entrypoint} failed`);
}

/** Bundles the page into `outdir`, replacing what was there. */
export async function buildPage(outdir: string): Promise<PageFile[]> {
  fs.rmSync(outdir, { recursive: true, force: true });
  fs.mkdirSync(outdir, { recursive: true });
  await bundle("index.html", outdir);
  await bundle("sw.ts", outdir);
  // The manifest names it, and names in a manifest are not rewritten.
  fs.copyFileSync(join(source, "icon.svg"), join(outdir, "icon.svg"));
  return fs.readdirSync(outdir).map((name) => compressed(join(outdir, name)));
}

function compressed(file: string): PageFile {
  const content = fs.readFileSync(file);
  const [brotli, gzip] = [`${file}.br`, `${file}.gz`];
  fs.writeFileSync(
    brotli,
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: content.length } }),
  );
  fs.writeFileSync(gzip, Bun.gzipSync(content, { level: 9 }));
  const name = basename(file);
  return {
    path: name === "index.html" ? "" : name,
    type: types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
    hashed: /-[0-9a-z]{8}\.(js|css|svg|webmanifest)$/.test(name),
    etag: `"${new Bun.CryptoHasher("sha256").update(content).digest("hex").slice(0, 16)}"`,
    brotli,
    gzip,
  };
}

/** Puts the files of the page in the place of the empty list that the source has. */
export function pagePlugin(files: readonly PageFile[]): BunPlugin {
  return {
    name: "page",
    setup(build) {
      build.onLoad({ filter: /src\/server\/page\/files\.ts$/ }, () => {
        const imports = files.flatMap(({ brotli, gzip }, index) => [
          `import b${index} from ${JSON.stringify(brotli)} with { type: "file" };`,
          `import g${index} from ${JSON.stringify(gzip)} with { type: "file" };`,
        ]);
        const entries = files.map(
          (file, index) => `{ ...${JSON.stringify(file)}, brotli: b${index}, gzip: g${index} },`,
        );
        return {
          contents: `${imports.join("\n")}\nexport const pageFiles = [\n${entries.join("\n")}\n];\n`,
          loader: "ts",
        };
      });
    },
  };
}
