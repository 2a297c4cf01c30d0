/** Instances for all tests of a file: their server runs while the tests do, and they go with them. */
import { afterAll, beforeAll } from "bun:test";
import { Gateway, type GatewayOptions } from "./server.ts";
import type { Wsh } from "./wsh.ts";

export function shared<T extends Wsh>(wsh: T): T {
  return during(wsh, () => wsh.server());
}

export function sharedGateway(options: GatewayOptions = {}): Gateway {
  const gateway = new Gateway(options);
  return during(gateway, () => gateway.serve());
}

function during<T extends Wsh>(wsh: T, start: () => Promise<unknown>): T {
  beforeAll(start);
  afterAll(() => wsh[Symbol.asyncDispose]());
  return wsh;
}
