/**
 * `wsh server`: the gateway in the foreground, its log on stderr. With --ensure it only ensures that one runs, in the
 * background, and prints its address. The hidden --report is for its starter: one line on stdout reports how the start
 * went.
 */
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { defaultInstanceName } from "../../protocol/names.ts";
import type { ViewKeys } from "../../server/options.ts";
import type { SettingName, Settings } from "../../settings/table.ts";
import { collect, requireOptions, wholeNumber } from "../arguments.ts";
import { instanceOf, settingsOf, warn } from "../instance.ts";
import { complain, printJson, printText } from "../print.ts";

/** Loopback, at a port that the system chooses; `wsh info` shows it. */
const FREE_PORT = "127.0.0.1:0";
/** Interval between attempts to restore what failed, in ms: at a login, disks and directories may appear late. */
const RESTORE_PAUSES_MS = [2_000, 10_000, 30_000, 60_000];

const tlsRules = [
  { option: "tls_cert", needs: "tls_key" },
  { option: "tls_key", needs: "tls_cert" },
];

interface ServerFlags {
  readonly bind?: string;
  readonly token?: string;
  readonly auth: boolean;
  readonly force?: boolean;
  readonly audit?: boolean;
  readonly ephemeral?: boolean;
  readonly maxSessions?: number;
  readonly corsOrigin?: readonly string[];
  readonly rateLimit?: number;
  readonly hostname?: string;
  readonly basePrefix?: string;
  readonly publicUrl?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly fleet?: string;
  readonly ensure?: boolean;
  readonly logFormat?: string;
  readonly json?: boolean;
  readonly report?: boolean;
}

export function register(program: Command): void {
  program
    .command("server")
    .description(
      "Serve the instance's sessions over HTTP, WebSocket and MCP, until SIGINT or SIGTERM; sessions keep running.",
    )
    .option("--bind <address>", "TCP address HOST:PORT, or none (default: 127.0.0.1:8080; with -L: a free port)")
    .addOption(new Option("--token <token>", "token for TCP instead of the instance's own").env("WSH_TOKEN"))
    .addOption(new Option("--no-auth", "accept requests without a token").env("WSH_NO_AUTH"))
    .option("--force", "with --no-auth: also on an address that other machines can reach")
    .option("--audit", "record every call with its caller (see audit_file in wsh config)")
    .option("--log-format <format>", "text or json")
    .option("--ephemeral", "end with the last session (default: stay)")
    .option("--max-sessions <n>", "live sessions allowed", wholeNumber(1))
    .option("--cors-origin <origin>", "origin that browsers may use (repeatable)", collect)
    .option("--rate-limit <n>", "requests a second for each address", wholeNumber(0))
    .option("--hostname <name>", "the server's own name")
    .option("--base-prefix <path>", "path before every route")
    .option("--public-url <url>", "its address behind a proxy, for wsh share")
    .option("--tls-cert <file>", "PEM certificate for TCP, read again at SIGHUP; needs --tls-key")
    .option("--tls-key <file>", "PEM key for TCP; needs --tls-cert")
    .option("--fleet <file>", "join a fleet with credentials from wsh fleet invite")
    .option("--config <path>", "settings file (WSH_CONFIG)")
    .option("--ensure", "start one in the background if none is running, and print its addresses")
    .option("--json", "with --ensure: print them as JSON")
    .addOption(new Option("--report").hideHelp())
    .action(async (flags: ServerFlags, command: Command) => {
      const instance = instanceOf(command);
      if (flags.ensure === true) return ensure(instance, flags);
      if (flags.report !== true) return serve(instance, flags, () => {});
      const { reportFailure, reportReady } = await import("../../launch/report.ts");
      let reported = false;
      try {
        await serve(instance, flags, (info) => {
          reported = true;
          reportReady(info);
        });
      } catch (error) {
        if (reported) throw error;
        reportFailure(error);
        process.exitCode = 1;
      }
    });
}

async function serve(
  instance: Instance,
  flags: ServerFlags,
  ready: (info: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const flagSettings = {
    bind: flags.bind,
    max_sessions: flags.maxSessions,
    cors_origins: flags.corsOrigin,
    rate_limit: flags.rateLimit,
    hostname: flags.hostname,
    base_prefix: flags.basePrefix,
    public_url: flags.publicUrl,
    tls_cert: flags.tlsCert,
    tls_key: flags.tlsKey,
    fleet: flags.fleet === undefined ? undefined : resolve(flags.fleet),
    audit: flags.audit,
    log_format: flags.logFormat,
  };
  const settings = await settingsOf(instance, flagSettings);
  const { values } = settings;
  const isDefault = (name: SettingName): boolean => settings.originOf(name).from === "default";
  requireOptions(tlsRules, { tls_cert: values.tls_cert || null, tls_key: values.tls_key || null });
  const [{ runServer }, { joinedFile }, { parseBind }, { createLogger }, { hostname }, { watchConfig }, loading] =
    await Promise.all([
      import("../../server/main.ts"),
      import("../../cluster/fleet/creds-file.ts"),
      import("../../server/http/address.ts"),
      import("../../log/log.ts"),
      import("../../instance/hostname.ts"),
      import("../../settings/watch.ts"),
      import("../../settings/settings.ts"),
    ]);
  // Two instances without a given address must not share one.
  const bind = parseBind(isDefault("bind") && instance.name !== defaultInstanceName ? FREE_PORT : values.bind);
  const isChosen = (!flags.auth || flags.token !== undefined) && (await mayChooseToken(values, flags, bind !== null));
  // Addresses, files and limits applied at the server's start stay; a mistake changes nothing.
  let consumers = loading.wantedOf(settings);
  watchConfig(instance.configFile, () => {
    try {
      const now = loading.loadSettings(instance, { flags: flagSettings, env: process.env });
      Object.assign(values, now.values);
      consumers = loading.wantedOf(now);
    } catch (thrown) {
      warn(loading.settingsFault(thrown));
    }
  });
  await runServer({
    instance,
    logger: createLogger({
      level: loading.logLevelFor("server", settings),
      format: values.log_format,
      file: values.log_file || undefined,
    }),
    hostname: hostname(values.hostname),
    bind,
    publicUrl: values.public_url === "" ? undefined : new URL(values.public_url),
    token: isChosen ? (flags.token ?? null) : null,
    noAuth: isChosen && !flags.auth,
    ephemeral: flags.ephemeral === true,
    corsOrigins: values.cors_origins,
    basePrefix: values.base_prefix,
    tls: values.tls_cert === "" ? null : { cert: values.tls_cert, key: values.tls_key },
    fleet: values.fleet === "" ? { path: joinedFile(instance), isNamed: false } : { path: values.fleet, isNamed: true },
    force: flags.force === true,
    rateLimit: values.rate_limit,
    settings: values,
    hooks: {
      consumers: () => consumers,
      call: async (line) => (await import("../session/hook-lines.ts")).hookCall(line),
    },
    viewKeys: (isTolerant) => viewKeys(instance, isTolerant),
    mcp: {
      maxWaitMs: values.mcp_max_wait_ms,
      progressMs: values.mcp_progress_ms,
      idleMs: values.mcp_idle_seconds * 1000,
      maxSessions: values.max_mcp_sessions,
    },
    ready: (info) => {
      ready(info);
      if (values.restore === "auto" && flags.ephemeral !== true) void restoreAll(instance);
    },
  });
}

/**
 * Whether the starter may choose the server's token, or run it without one. An AI agent could thereby act as
 * a person. Without TCP, an agent's choice is ignored, since variables are inherited.
 * @throws WshError access_denied
 */
async function mayChooseToken(settings: Settings, { auth }: ServerFlags, hasTcp: boolean): Promise<boolean> {
  const [{ agentOfStarter, knowAgents }, { requireNoAgent }] = await Promise.all([
    import("../../platform/agent-above.ts"),
    import("../../protocol/owner.ts"),
  ]);
  knowAgents(settings.agents);
  // A server itself acts for no agent.
  const starter = { kind: "cli", id: "server", connected: true, ...present({ agent: agentOfStarter() }) } as const;
  try {
    requireNoAgent(settings, starter, `wsh server ${auth ? "--token (WSH_TOKEN)" : "--no-auth (WSH_NO_AUTH)"}`);
    return true;
  } catch (thrown) {
    if (hasTcp) throw thrown;
    return false;
  }
}

/** The current key settings, for terminals in pages. @throws WshError invalid_setting */
async function viewKeys(instance: Instance, isTolerant: boolean): Promise<ViewKeys> {
  const [settings, { bindingsOf, ignored }, { parsePrefix }, { KeyTables }, { bindingRows }] = await Promise.all([
    settingsOf(instance, {}, isTolerant ? undefined : null),
    import("../session/bindings.ts"),
    import("../../keys/prefix.ts"),
    import("../../keys/tables.ts"),
    import("../../keys/bindings.ts"),
  ]);
  const { mode_keys, repeat_time: repeat_ms, escape_ms, key_help_ms, word_separators } = settings.values;
  const { prefix: key, changes: bindings } = await bindingsOf(
    instance,
    settings,
    isTolerant ? (error) => warn(ignored(error)) : undefined,
  );
  const delays = { repeat_ms, escape_ms, key_help_ms };
  const prefix = parsePrefix(key)?.label ?? null;
  const tables = [...new KeyTables(bindings).all].map(([name, table]) => ({
    name,
    rows: bindingRows(table).map(({ keys, description }) => ({ keys: [...keys], description })),
  }));
  return { prefix, mode_keys, ...delays, bindings, pageKeys: { prefix, tables, word_separators } };
}

/** A server that stays is started at a login or boot, and restores sessions. Failures are retried for a while. */
async function restoreAll(instance: Instance): Promise<void> {
  const { restoreCheckpoints } = await import("../../checkpoints/operations.ts");
  for (let index = 0; ; index++) {
    const pauseMs = RESTORE_PAUSES_MS[index];
    const failures: string[] = [];
    try {
      const { left_out, failed } = await restoreCheckpoints(instance, {}, { env: process.env, starter: "cli" });
      for (const { session, pane_id, message } of left_out)
        complain(`session '${session}' is restored without pane ${pane_id}: ${message}`);
      for (const { session, message } of failed) failures.push(`session '${session}' is not restored: ${message}`);
    } catch (thrown) {
      failures.push(`sessions were not restored: ${WshError.from(thrown).message}`);
    }
    if (failures.length === 0) return;
    if (index === 0 || pauseMs === undefined) for (const failure of failures) complain(failure);
    if (pauseMs === undefined) return;
    await Bun.sleep(pauseMs);
  }
}

async function ensure(instance: Instance, flags: ServerFlags): Promise<void> {
  const { startServer } = await import("../../launch/server.ts");
  const { readServerInfo } = await import("../../registry/server-info.ts");
  const args = flags.fleet === undefined ? [] : ["--fleet", resolve(flags.fleet)];
  const { started } = await startServer(instance, { bind: flags.bind, token: flags.token, args });
  if (!started && args.length > 0) {
    throw new WshError("server_already_running", "a server is already running: --fleet would have no effect", {
      hint: "`wsh server --force --fleet FILE` replaces it.",
    });
  }
  const info = readServerInfo(instance);
  if (info === null) throw new WshError("server_unavailable", `${instance.infoFile} does not describe the server`);
  const description = { socket: instance.httpSocket, addresses: info.addresses, pid: info.pid };
  if (flags.json === true) return printJson(description);
  await printText(`${[description.socket, ...description.addresses].join("\n")}\n`);
}
