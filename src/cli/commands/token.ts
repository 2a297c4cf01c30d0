/** `wsh token`: the instance's own token, and the tokens that a person makes for programs. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { readToken } from "../../instance/secrets/own-secrets.ts";
import { WshError } from "../../protocol/errors.ts";
import { sessionId } from "../../protocol/names.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, say, table } from "../print.ts";

interface TokenOptions {
  readonly access?: string;
  readonly session?: string;
  readonly json?: boolean;
}

const accesses = ["observe", "operate", "admin"] as const;

export function register(program: Command): void {
  program
    .command("token [action] [name]")
    .usage("[create NAME [--access A] [--session S] | list | revoke NAME]")
    .description(
      "Print the token that clients over TCP send as 'Authorization: Bearer TOKEN'; or create, list and revoke tokens " +
        "of less access. A new token is shown once; a revoked one is refused at once.",
    )
    .option("--access <access>", "create: observe (look), operate (act as well) or admin (everything)")
    .option("--session <target>", "create: the only session that it opens, also after a rename")
    .option("--json", "list: as JSON")
    .action(async (action: string | undefined, name: string | undefined, options: TokenOptions, command: Command) => {
      const instance = instanceOf(command);
      switch (action) {
        case undefined:
          return printOwn(instance);
        case "create":
          return create(instance, required(name, "create"), options);
        case "list":
          return list(instance, options.json === true);
        case "revoke": {
          const { revokeToken } = await import("../../instance/secrets/named-tokens.ts");
          const revoked = required(name, "revoke");
          await recorded(instance, "token.revoke", { name: revoked }, () => revokeToken(instance, revoked));
          return say(`Token '${name}' revoked.\n`);
        }
        default:
          throw new UsageError(`unknown action '${action}'`, "Use create, list or revoke.");
      }
    });
}

function required(name: string | undefined, action: string): string {
  if (name !== undefined) return name;
  throw new UsageError(`'${action}' takes the token's name`);
}

function printOwn(instance: Instance): Promise<void> {
  const token = readToken(instance);
  if (token === null) {
    throw new WshError("auth_required", `instance '${instance.name}' has no token yet`, {
      hint: "A token is made when a server first listens on TCP: wsh server --bind 127.0.0.1:8080.",
    });
  }
  return print(`${token}\n`);
}

async function create(instance: Instance, name: string, { access, session }: TokenOptions): Promise<void> {
  const held = accesses.find((one) => one === (access ?? "operate"));
  if (held === undefined) throw new UsageError(`unknown access '${access}'`, `Use ${accesses.join(", ")}.`);
  const { createToken } = await import("../../instance/secrets/named-tokens.ts");
  const wanted = { name, access: held, session };
  await print(`${await recorded(instance, "token.create", wanted, () => createToken(instance, wanted))}\n`);
}

/** Performs the action, and records it where calls are recorded. */
async function recorded<T>(instance: Instance, operation: string, input: object, act: () => Promise<T>): Promise<T> {
  const [{ directAudit, directly }, { loadSettings }] = await Promise.all([
    import("../../instance/audit/direct-audit.ts"),
    import("../../instance/settings/settings.ts"),
  ]);
  const audit = directAudit(instance, loadSettings(instance, { env: process.env }).values)();
  const context = { caller: { kind: "cli", id: `cli:${process.pid}`, name: "wsh" }, via: directly };
  const began = performance.now();
  let result = "ok";
  try {
    return await act();
  } catch (thrown) {
    result = WshError.from(thrown).code;
    throw thrown;
  } finally {
    audit?.write({ operation, input, context, result, ms: performance.now() - began });
  }
}

async function list(instance: Instance, json: boolean): Promise<void> {
  const [{ readTokens }, { listSessions }] = await Promise.all([
    import("../../instance/secrets/named-tokens.ts"),
    import("../../instance/registry/registry.ts"),
  ]);
  const tokens = readTokens(instance).map(({ digest: _, ...token }) => token);
  if (json) return printJson(tokens);
  if (tokens.length === 0) return say("No tokens but the instance's own.\n");
  const names = new Map(
    listSessions(instance).flatMap(({ session, name }) => (session === null ? [] : [[sessionId(session), name]])),
  );
  const shown = (session: string): string => `${names.get(session) ?? "gone"} (${session})`;
  const rows = tokens.map(({ name, access, session, created_at }) => [
    name,
    access,
    session === undefined ? "all" : shown(session),
    new Date(created_at).toISOString(),
  ]);
  await print(table([["NAME", "ACCESS", "SESSIONS", "CREATED"], ...rows]));
}
