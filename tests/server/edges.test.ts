/** Edge cases of a server: odd addresses, endless bodies, expired certificates. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { Hono } from "hono";
import { hostOf } from "../../src/server/auth/guard.ts";
import { parseBind } from "../../src/server/http/address.ts";
import { readBody, requestWithBody } from "../../src/server/http/body.ts";
import { errorResponse } from "../../src/server/http/request.ts";
import { isMissing } from "../support/programs.ts";
import { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";

describe("addresses", () => {
  test.each([
    "0:0",
    "127.1:80",
    "0x7f.1:80",
    "2130706433:80",
    "256.1.1.1:80",
    "1.2.3.04:80",
    "[::g]:1",
    "a b:1",
    "x:99999",
  ])("%s is refused", (text) => {
    expect(() => parseBind(text)).toThrow("is not an address to bind");
  });

  test.each([
    ["localhost:1", { host: "localhost", port: 1 }],
    ["3com.example:1", { host: "3com.example", port: 1 }],
    ["0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
    ["[::]:8080", { host: "::", port: 8080 }],
    ["[0:0:0:0:0:0:0:0]:1", { host: "::", port: 1 }],
    ["[0::1]:1", { host: "::1", port: 1 }],
    ["none", null],
  ])("%s is %p", (text, bind) => {
    expect(parseBind(text)).toEqual(bind);
  });

  test.each([
    ["[::1]:80", "[::1]"],
    ["[::1]", "[::1]"],
    ["LOCALHOST:80", "localhost"],
    ["[::1].evil.com", null],
    ["[::1].evil.com:80", null],
    ["[::1]evil", null],
    ["localhost:evil", null],
    ["localhost:80:evil", null],
    ["[::1", null],
  ])("the host of %s is %p", (header, host) => {
    expect(hostOf(header)).toBe(host);
  });

  test("a hostname after ours in brackets is refused", async () => {
    await using gateway = await Gateway.start({ auth: false });
    const { port } = new URL(gateway.origin);
    const answer = await exchange(Number(port), [
      "GET /sessions HTTP/1.1\r\nHost: [::1].evil.com\r\nConnection: close\r\n\r\n",
    ]);
    expect(answer).toContain("host_not_allowed");
  });
});

/** Writes each part after the one before has been sent, and reads until the server closes. */
async function exchange(port: number, parts: readonly string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let heard = "";
  let closed = false;
  const socket = net.connect(port, "127.0.0.1");
  socket.on("data", (bytes) => {
    heard += bytes.toString();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
    resolve(heard);
  });
  for (const part of parts) {
    if (closed) break;
    socket.write(part);
    await Bun.sleep(10);
  }
  return promise;
}

test("a dripping body is cut off, one that arrives is read", async () => {
  const readingFor = (ms: number) => {
    const app = new Hono();
    app.onError((error, c) => errorResponse(error, c.req.path));
    app.use(readBody(ms, errorResponse));
    app.post("/text", async (c) => c.text(await c.req.text()));
    app.post("/raw", async (c) => c.text(await (await requestWithBody(c)).text()));
    return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: app.fetch });
  };
  using patient = readingFor(20_000);
  using server = readingFor(200);
  const post = (path: string, more: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}`;
  for (const path of ["/text", "/raw"]) {
    const whole = post(path, "Connection: close\r\nContent-Length: 5\r\n\r\nab");
    expect(await exchange(patient.port ?? 0, [whole, "cde"])).toEndWith("abcde");
    for (const framing of ["Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"]) {
      const drip = Array.from({ length: 500 }, () => (framing.startsWith("C") ? "x" : "1\r\nx\r\n"));
      const answer = await exchange(server.port ?? 0, [post(path, framing), ...drip]);
      expect(answer).toStartWith("HTTP/1.1 408");
      expect(answer).toContain("did not arrive within 200 ms");
      expect(answer).toMatch(/^connection: close\r$/im);
    }
  }
});

test("uptime uses a monotonic clock", async () => {
  await using gateway = await Gateway.start();
  const { uptime_ms } = (await (await gateway.fetch("/server/info")).json()) as { uptime_ms: number };
  expect(uptime_ms).toBeGreaterThanOrEqual(0);
  expect(Number.isInteger(uptime_ms)).toBe(true);
});

describe("warnings at the start", () => {
  test("others can reach it and without TLS", async () => {
    await using open = await Gateway.start({ args: ["--bind", "0.0.0.0:0"] });
    expect(await open.log()).toContain("without TLS");
    await using own = await Gateway.start();
    expect(await own.log()).not.toContain("without TLS");
  });

  test.skipIf(isMissing("openssl"))(
    "the certificate's time is over, or has not come; again when it is read again",
    async () => {
      const dir = fs.mkdtempSync("/tmp/wsh-t-");
      const [cert, key] = [join(dir, "cert.pem"), join(dir, "key.pem")];
      const run = (...args: string[]): void => {
        const made = Bun.spawnSync(["openssl", ...args], { cwd: dir, stderr: "pipe" });
        if (!made.success) throw new Error(made.stderr.toString());
      };
      const policy = "database = index.txt\nnew_certs_dir = .\nserial = serial\ndefault_md = sha256\npolicy = any";
      fs.writeFileSync(join(dir, "ca"), `[ca]\ndefault_ca = own\n[own]\n${policy}\n[any]\ncommonName = supplied\n`);
      const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
      run("req", "-new", ...curve, "-subj", "/CN=localhost", "-keyout", key, "-out", "request");
      const make = (from: string, to: string): void => {
        fs.writeFileSync(join(dir, "index.txt"), "");
        fs.writeFileSync(join(dir, "serial"), "01\n");
        const dates = ["-startdate", from, "-enddate", to];
        run(
          "ca",
          "-batch",
          "-config",
          "ca",
          "-selfsign",
          "-keyfile",
          key,
          "-in",
          "request",
          "-out",
          cert,
          "-notext",
          ...dates,
        );
      };
      try {
        make("20200101000000Z", "20200201000000Z");
        await using gateway = await Gateway.start({ args: ["--tls-cert", cert, "--tls-key", key] });
        expect(await gateway.log()).toContain("it expired on");
        make("29980101000000Z", "29990101000000Z");
        gateway.signal("SIGHUP");
        await until("the second warning", async () => (await gateway.log()).includes("it is not valid before"));
      } finally {
        fs.rmSync(dir, { recursive: true });
      }
    },
  );
});
