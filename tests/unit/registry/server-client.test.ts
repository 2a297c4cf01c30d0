/** A server that ends before its answer: the request may have been done. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import net from "node:net";
import { dirname } from "node:path";
import { WshError } from "../../../src/protocol/errors.ts";
import { askServer } from "../../../src/registry/server-client.ts";
import { Wsh } from "../../support/wsh.ts";

test("not sent, without a change, and possibly done are distinguished", async () => {
  await using wsh = new Wsh();
  const { instance } = wsh;
  fs.mkdirSync(dirname(instance.httpSocket), { recursive: true, mode: 0o700 });
  const code = async (method: "GET" | "POST", request?: { readonly id: string }) => {
    const asked = askServer(instance, method, "/x", {
      ...(method === "GET" ? {} : { body: {} }),
      ...(request === undefined ? {} : { request }),
    });
    const { code, details } = WshError.from(await asked.catch((thrown) => thrown));
    return [code, details.request];
  };
  expect([await code("GET"), await code("POST")]).toEqual([
    ["server_unavailable", undefined],
    ["server_unavailable", undefined],
  ]);
  for (const said of ["", "HTTP/1.1 200 OK\r\nContent-Le", 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"name":']) {
    const server = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => (said === "" ? socket.destroy() : socket.write(said, () => socket.destroy())));
    });
    await new Promise<void>((done) => server.listen(instance.httpSocket, done));
    expect([await code("GET"), await code("POST"), await code("POST", { id: "r-1" })]).toEqual([
      ["server_unavailable", undefined],
      ["outcome_unknown", undefined],
      ["outcome_unknown", "r-1"],
    ]);
    await new Promise<void>((done) => server.close(() => done()));
  }
});
