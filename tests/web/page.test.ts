/** The page as it is served: embedded in the executable, reachable without a token, with its policy. */
import { expect, test } from "bun:test";
import { sharedGateway } from "../support/shared.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, TestBrowser } from "./support/browser.ts";

const compiledTest = isCompiled ? test : test.skip;

/** Largest script of a first visit, in bytes of gzip. */
const MAX_SCRIPT_BYTES = 60 * 1024;

const gateway = sharedGateway();

compiledTest("the page needs no token, and everything else does", async () => {
  const page = await gateway.tcp("/", { token: null });
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(page.headers.get("content-security-policy")).toContain("require-trusted-types-for 'script'");
  expect((await gateway.tcp("/sessions", { token: null })).status).toBe(401);
  const html = await page.text();
  expect(html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/);
});

compiledTest("its files are kept for good by their hash, and come packed; the script is small", async () => {
  const html = await (await gateway.tcp("/", { token: null })).text();
  const [, script = ""] = /<script[^>]*src="\.?\/?([^"]+)"/.exec(html) ?? [];
  const packed = await fetch(`${gateway.origin}/${script}`, {
    decompress: false,
    headers: { "Accept-Encoding": "gzip" },
  });
  expect(packed.status).toBe(200);
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(packed.headers.get("cache-control")).toContain("immutable");
  const bytes = await packed.bytes();
  expect(bytes.length).toBeLessThan(MAX_SCRIPT_BYTES);
  const plain = await fetch(`${gateway.origin}/${script}`, {
    decompress: false,
    headers: { "Accept-Encoding": "identity" },
  });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(await plain.bytes()).toEqual(Bun.gunzipSync(bytes));
  const etag = packed.headers.get("etag") ?? "";
  const again = await fetch(`${gateway.origin}/${script}`, { headers: { "If-None-Match": etag } });
  expect(again.status).toBe(304);
});

compiledTest("another name for this address gets nothing", async () => {
  const foreign = await fetch(`${gateway.origin}/`, { headers: { Host: "evil.example" } });
  expect(foreign.status).toBe(403);
});

browserTest("it loads without a violation of its policy", async () => {
  await using browser = await TestBrowser.start();
  const { page, faults } = await browser.page();
  await page.goto(gateway.origin);
  await page.waitForSelector("#wsh > *");
  expect(faults).toEqual([]);
});
