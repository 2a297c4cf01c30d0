/** TLS, as curl sees it: HTTPS and WSS on one port, nothing in the clear, a new certificate without a restart. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { Gate } from "../support/held-command.ts";
import { isMissing } from "../support/programs.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { finished } from "../support/wsh.ts";

const hasPrograms = !isMissing("openssl", "curl");
if (!hasPrograms) console.warn("SKIPPED: tests of TLS need openssl and curl");

let gateway: Gateway;
let dir = "";

function certificate(name: string, cert: string, key: string): void {
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const how = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const made = Bun.spawnSync(["openssl", "req", ...how, ...subject, "-keyout", key, "-out", cert], { stderr: "pipe" });
  if (!made.success) throw new Error(made.stderr.toString());
}

async function curl(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = Bun.spawn(["curl", "-sS", ...args], { stdout: "pipe", stderr: "pipe" });
  return finished(child);
}

beforeAll(async () => {
  if (!hasPrograms) return;
  dir = fs.mkdtempSync("/tmp/wsh-tls-");
  certificate("first", join(dir, "cert.pem"), join(dir, "key.pem"));
  gateway = await Gateway.start({ args: ["--tls-cert", join(dir, "cert.pem"), "--tls-key", join(dir, "key.pem")] });
});
afterAll(async () => {
  if (!hasPrograms) return;
  await gateway[Symbol.asyncDispose]();
  fs.rmSync(dir, { recursive: true });
});

const bearer = ["-H", `Authorization: Bearer ${TOKEN}`];

test.skipIf(!hasPrograms)("HTTPS with the certificate, checked", async () => {
  expect(gateway.origin).toStartWith("https://");
  const { code, stdout } = await curl("--cacert", join(dir, "cert.pem"), ...bearer, `${gateway.origin}/sessions`);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual([]);
  const refused = await curl("--cacert", join(dir, "cert.pem"), `${gateway.origin}/sessions`);
  expect(JSON.parse(refused.stdout).error.code).toBe("auth_required");
  // A certificate of another authority is refused.
  expect((await curl(...bearer, `${gateway.origin}/sessions`)).code).not.toBe(0);
});

test.skipIf(!hasPrograms)(
  "wsh open prints an address of every interface by a name that the certificate has",
  async () => {
    const files = ["--tls-cert", join(dir, "cert.pem"), "--tls-key", join(dir, "key.pem")];
    await using everywhere = await Gateway.start({ args: ["--bind", "0.0.0.0:0", ...files] });
    const asked = await everywhere.unix("/auth/code", { method: "POST" });
    const { page } = (await asked.json()) as { page: string };
    expect(page).toMatch(/^https:\/\/localhost:\d+$/);
    expect((await curl("--cacert", join(dir, "cert.pem"), "-o", "/dev/null", `${page}/`)).code).toBe(0);
  },
);

test.skipIf(!hasPrograms)("nothing in the clear on that port", async () => {
  const { code } = await curl("--max-time", "5", ...bearer, `${gateway.origin.replace("https", "http")}/sessions`);
  expect(code).not.toBe(0);
});

test.skipIf(!hasPrograms)("only TLS 1.2 and newer", async () => {
  const old = await curl("-k", "--tls-max", "1.1", ...bearer, `${gateway.origin}/sessions`);
  expect(old.code).not.toBe(0);
});

test.skipIf(!hasPrograms)(
  "SIGHUP takes a new certificate; what is connected stays; a bad one changes nothing",
  async () => {
    const headers = { headers: { Authorization: `Bearer ${TOKEN}` }, tls: { rejectUnauthorized: false } };
    const socket = new WebSocket(`${gateway.origin.replace("https", "wss")}/ws/json`, headers as unknown as string[]);
    const heard: string[] = [];
    socket.onmessage = ({ data }) => void heard.push(String(data));
    await until("the WebSocket", () => heard.length > 0);

    certificate("second", join(dir, "next.pem"), join(dir, "key.pem"));
    fs.renameSync(join(dir, "next.pem"), join(dir, "cert.pem"));
    gateway.signal("SIGHUP");
    const cacert = ["--cacert", join(dir, "cert.pem")];
    await until(
      "the new certificate",
      async () => (await curl(...cacert, ...bearer, `${gateway.origin}/sessions`)).code === 0,
    );
    socket.send(JSON.stringify({ id: 1, method: "list_sessions" }));
    await until("the old connection's answer", () => heard.length > 1);
    socket.close();

    fs.writeFileSync(join(dir, "cert.pem"), "no certificate");
    gateway.signal("SIGHUP");
    await until("the log", async () => (await gateway.log()).includes("was not replaced"));
    const { code } = await curl("-k", ...bearer, `${gateway.origin}/sessions`);
    expect(code).toBe(0);
  },
);

test.skipIf(!hasPrograms)(
  "SIGHUP ends connections between two requests, and none with a request under way",
  async () => {
    certificate("third", join(dir, "cert.pem"), join(dir, "key.pem"));
    await gateway.session("waited");
    const { port } = new URL(gateway.origin);
    const connect = async (request: string, body = "") => {
      const socket = tls.connect({ host: "127.0.0.1", port: Number(port), rejectUnauthorized: false });
      const seen = { text: "", closed: false };
      socket.on("data", (bytes) => {
        seen.text += bytes.toString();
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        seen.closed = true;
      });
      const headers = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
      const length = body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
      socket.write(`${body === "" ? "GET" : "POST"} ${request} HTTP/1.1\r\n${headers}${length}\r\n${body}`);
      return { socket, seen };
    };
    const idle = await connect("/sessions");
    await until("the first answer", () => idle.seen.text.includes("waited"));
    const gate = new Gate(dir);
    const begun = join(dir, "begun");
    const command = `touch ${begun}; ${gate.wait}`;
    const busy = await connect("/sessions/waited/exec", JSON.stringify({ command }));
    await until("the second request to be under way", () => fs.existsSync(begun));
    gateway.signal("SIGHUP");
    await until("the idle connection's end", () => idle.seen.closed);
    gate.open();
    await until("the answer to the wait", () => busy.seen.text.includes("HTTP/1.1 200"));
    busy.socket.destroy();
  },
);
