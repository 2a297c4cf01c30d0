/** Instances that all tests of a file share: their server runs during the tests, and both end with them. */
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
