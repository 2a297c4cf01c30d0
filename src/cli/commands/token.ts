/** `wsh token`: the instance's own token, and tokens that a person creates for programs. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/names.ts";
import { sessionIdOf } from "../../registry/registry.ts";
import { readToken } from "../../secrets/own-secrets.ts";
import { UsageError } from "../arguments.ts";
import { endOf, recordAction } from "../credential-audit.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText, table } from "../print.ts";
import { requirePerson } from "../session/client.ts";

interface TokenOptions {
  readonly access?: string;
  readonly session?: string;
  readonly expires?: string;
  readonly json?: boolean;
}

const accesses = ["observe", "operate", "admin"] as const;

export function register(program: Command): void {
  program
    .command("token [action] [name]")
    .usage("[create NAME [options] | list | revoke NAME]")
    .description(
      "Print the token that clients over TCP send as 'Authorization: Bearer TOKEN'; or create, list and revoke tokens " +
        "with less access. A new token is shown once; a revoked one is refused immediately. The list includes shared links and " +
        "browsers logged in by 'wsh open': revoke ends each of them.",
    )
    .option("--access <access>", "create: observe (read), operate (read and act) or admin (everything)")
    .option("--session <target>", "create: limit it to this session, also after a rename")
    .option("--expires <duration>", "create: lifetime: 90s, 30m, 12h, 7d (default: until revoked)")
    .option("--json", "list: as JSON")
    .action(async (action: string | undefined, name: string | undefined, options: TokenOptions, command: Command) => {
      const instance = instanceOf(command);
      if (action !== "list") await requirePerson(instance, "wsh token");
      switch (action) {
        case undefined:
          return printOwn(instance);
        case "create":
          return create(instance, required(name, "create"), options);
        case "list":
          return list(instance, options.json === true);
        case "revoke":
          return revoke(instance, required(name, "revoke"));
        default:
          throw new UsageError(`unknown action '${action}'`, "Use create, list or revoke.");
      }
    });
}

function required(name: string | undefined, action: string): string {
  if (name !== undefined) return name;
  throw new UsageError(`'${action}' needs the token's name`);
}

function printOwn(instance: Instance): Promise<void> {
  const token = readToken(instance);
  if (token === null) {
    throw new WshError("auth_required", `instance '${instance.name}' has no token yet`, {
      hint: "A server creates it when it first listens on TCP: wsh server --bind 127.0.0.1:8080.",
    });
  }
  return print(`${token}\n`);
}

async function create(instance: Instance, name: string, { access, session, expires }: TokenOptions): Promise<void> {
  const level = accesses.find((one) => one === (access ?? "operate"));
  if (level === undefined) throw new UsageError(`unknown access '${access}'`, `Use ${accesses.join(", ")}.`);
  const { createToken } = await import("../../secrets/named-tokens.ts");
  const token = { name, access: level, session, ...(expires === undefined ? {} : { expiresAt: endOf(expires) }) };
  const made = () =>
    createToken(instance, { ...token, session: session === undefined ? session : sessionIdOf(instance, session) });
  await print(`${await recordAction(instance, "token.create", token, made)}\n`);
}

async function revoke(instance: Instance, name: string): Promise<void> {
  const [{ revokeToken }, { revokeDevice }] = await Promise.all([
    import("../../secrets/named-tokens.ts"),
    import("../../secrets/devices.ts"),
  ]);
  let what = "Browser";
  await recordAction(instance, "token.revoke", { name }, async () => {
    if (await revokeDevice(instance, name)) return;
    await revokeToken(instance, name);
    what = "Token";
  });
  return printText(`${what} '${name}' revoked.\n`);
}

async function list(instance: Instance, json: boolean): Promise<void> {
  const [{ hasExpired, readTokens }, { devices }, { listSessions }] = await Promise.all([
    import("../../secrets/named-tokens.ts"),
    import("../../secrets/devices.ts"),
    import("../../registry/registry.ts"),
  ]);
  const tokens = readTokens(instance)
    .filter((token) => !hasExpired(token, Date.now()))
    .map(({ digest: _, share, browser: __, ...token }) => ({ ...token, kind: share === true ? "share" : "token" }));
  const browsers = devices.read(instance).map(({ name, origin, created_at, used_at }) => {
    return { name, kind: "browser", access: "admin" as const, created_at, used_at, origin };
  });
  if (json) return printJson([...tokens, ...browsers]);
  if (tokens.length + browsers.length === 0) return printText("No tokens besides the instance's own.\n");
  const names = new Map(
    listSessions(instance).flatMap(({ session, name }) => (session === null ? [] : [[sessionId(session), name]])),
  );
  const sessionText = (session: string): string => `${names.get(session) ?? "gone"} (${session})`;
  const dateText = (ms: number | undefined): string => (ms === undefined ? "never" : new Date(ms).toISOString());
  const rows = [
    ...tokens.map(({ name, kind, access, session, created_at, expires_at }) => {
      return [
        name,
        kind,
        access,
        session === undefined ? "all" : sessionText(session),
        dateText(created_at),
        dateText(expires_at),
      ];
    }),
    ...browsers.map(({ name, kind, access, created_at }) => [name, kind, access, "all", dateText(created_at), "never"]),
  ];
  await print(table([["NAME", "KIND", "ACCESS", "SESSIONS", "CREATED", "ENDS"], ...rows]));
}
