/**
 * The gateway with the fixtures that the MCP conformance suite expects besides wsh's own tools: on a free port of
 * loopback, without a token, until a signal ends it. The instance is named by the environment, as for `wsh server`.
 */
import { hostname } from "../../src/instance/hostname.ts";
import { resolveInstance } from "../../src/instance/paths.ts";
import { createLogger } from "../../src/log/log.ts";
import { runServer } from "../../src/server/main.ts";
import { loadSettings } from "../../src/settings/settings.ts";
import { fixtures } from "./conformance-fixtures.ts";

const instance = resolveInstance({ env: process.env });
const settings = loadSettings(instance, { env: process.env }).values;

await runServer({
  instance,
  logger: createLogger({ level: "warn", format: "text" }),
  hostname: hostname(""),
  bind: { host: "127.0.0.1", port: 0 },
  token: null,
  noAuth: true,
  force: false,
  fleet: { path: "", isNamed: false },
  ephemeral: false,
  corsOrigins: [],
  basePrefix: "",
  tls: null,
  rateLimit: 0,
  settings,
  mcp: { extend: fixtures },
  ready: () => {},
});
process.exit(0);
