/** Members that a fleet's servers no longer admit, with a server that accepts only the first connection. */
import { expect, test } from "bun:test";
import net from "node:net";
import { FleetConnection } from "../../../src/cluster/fleet/connection.ts";
import { until } from "../../support/until.ts";

const INFO = {
  server_id: "s",
  version: "2.10.0",
  proto: 1,
  headers: true,
  max_payload: 1_048_576,
  auth_required: true,
};

test("a revoked member retries ever less often, and reports it once", async () => {
  const times: number[] = [];
  let first: net.Socket | null = null;
  const server = net.createServer((socket) => {
    times.push(performance.now());
    first ??= socket;
    const isAdmitted = socket === first;
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      if (!data.includes("PING")) return;
      if (isAdmitted) socket.write("PONG\r\n");
      else socket.end("-ERR 'Authorization Violation'\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const refused: string[] = [];
  const up = Promise.withResolvers<void>();
  const connection = new FleetConnection(
    { user: "m1", role: "machine", servers: [`nats://127.0.0.1:${port}`], ca: null, tags: [], login: null },
    { up: up.resolve, down: () => {}, refused: (error) => refused.push(error.message) },
  );
  try {
    await up.promise;
    const revoked = first as net.Socket | null;
    revoked?.end("-ERR 'Authorization Violation'\r\n");
    await until("it to know that it is refused", () => connection.isRejected);
    await until("several tries", () => times.length >= 6, 30_000);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    // Each pause is twice the one before, give or take a half.
    expect(gaps.at(-1)).toBeGreaterThan(750);
    expect(new Set(refused).size).toBe(refused.length);
  } finally {
    await connection.close();
    server.close();
  }
}, 60_000);
