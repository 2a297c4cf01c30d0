/**
 * HTTP clients whose connections do more than ask and wait. Bun closes one that receives more before the
 * answer; a request whose answer could not be sent is not carried out if that is known.
 */
import { expect, test } from "bun:test";
import net from "node:net";
import { Gateway, TOKEN } from "../support/server.ts";

function createRequest(name: string, authorization: string): string {
  const body = JSON.stringify({ name });
  const headers = [
    "Host: localhost",
    ...(authorization === "" ? [] : [`Authorization: ${authorization}`]),
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  return `POST /sessions HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
}

/** Writes it in one piece and reads until the server closes. */
function exchange(to: net.NetConnectOpts, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let heard = "";
  const socket = net.connect(to, () => void socket.write(text));
  socket.on("data", (bytes) => {
    heard += bytes.toString();
  });
  socket.on("close", () => resolve(heard));
  socket.on("error", () => {});
  return promise;
}

test("pipelined requests: one that cannot be answered is not carried out, and a single one is", async () => {
  await using gateway = await Gateway.start();
  const ways: [net.NetConnectOpts, string][] = [
    [{ host: "127.0.0.1", port: Number(new URL(gateway.origin).port) }, `Bearer ${TOKEN}`],
    [{ path: gateway.instance.httpSocket }, ""],
  ];
  for (const [to, authorization] of ways) {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const [first, second] = [createRequest("first", authorization), createRequest("second", authorization)];
      expect(await exchange(to, first + second)).toBe("");
    }
  }
  await gateway.session("after");
  expect((await gateway.list()).map(({ name }) => name)).toEqual(["after"]);
});
