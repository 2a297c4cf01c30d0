/**
 * `wsh share`: links with which others see one session in their browsers, and may be allowed to type there
 * (docs/security.md, Sharing). A link contains a code. The first browser that opens the link registers a key with it;
 * the key opens the session until the link ends. The code follows `#` in the address, so that no log contains it.
 */
import os from "node:os";
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { sessionIdOf } from "../../registry/registry.ts";
import { readServerInfo } from "../../registry/server-info.ts";
import { isServerAlive } from "../../registry/single-server.ts";
import { createToken, hasExpired, readTokens, revokeToken, type StoredToken } from "../../secrets/named-tokens.ts";
import { UsageError } from "../arguments.ts";
import { endOf, recordAction } from "../credential-audit.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, print, printJson, printText, table, takesColor } from "../print.ts";
import { requirePerson } from "../session/client.ts";
import { findAll } from "../session/session-list.ts";
import { tunnelLine } from "../tunnel.ts";

/** Default lifetime of a link. */
const USUAL_LIFE = "1h";
/** Prefix of a link's number. */
const PREFIX = "share-";

interface Options {
  readonly write?: boolean;
  readonly expires?: string;
  readonly qr?: boolean;
  readonly local?: boolean;
  readonly list?: boolean;
  readonly revoke?: string;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("share [session]")
    .usage("SESSION [options] | --list | --revoke ID")
    .description(
      "Create a temporary link that shows a session in a browser; with --write, its viewer can type too. The link opens " +
        "only that session, and admits the first browser that opens it: create a link for each viewer. It needs an address " +
        "that others can reach: TLS (wsh server --bind 0.0.0.0:8443 --tls-cert …), or a proxy (tailscale " +
        "serve 8080) with its address in public_url.",
    )
    .option("--write", "let the viewer type as you, with all rights of your account")
    .option("--expires <duration>", `lifetime of the link: 30m, 1h, 2d (default: ${USUAL_LIFE})`)
    .option("--qr", "also show the link as a QR code")
    .option("--local", "an address of this machine, for access over ssh -L")
    .option("--list", "show the valid links and their viewers")
    .option("--revoke <id>", "revoke a link and everything opened with it")
    .option("--json", "print as JSON")
    .action(async (session: string | undefined, options: Options, command: Command) => {
      const instance = instanceOf(command);
      if (options.list === true) return list(instance, options.json === true);
      await requirePerson(instance, "wsh share");
      if (options.revoke !== undefined) return revoke(instance, options.revoke);
      if (session === undefined) throw new UsageError("the session to share is missing", "wsh share SESSION");
      return share(instance, session, options);
    });
}

async function share(instance: Instance, session: string, options: Options): Promise<void> {
  const expiresAt = endOf(options.expires ?? USUAL_LIFE);
  const page = options.local === true ? localPage(instance) : await publicPage(instance);
  const access = options.write === true ? "operate" : "observe";
  const name = nextName(readTokens(instance));
  const token = { name, access, session, expiresAt, share: true } as const;
  const code = await recordAction(instance, "share.create", token, () =>
    createToken(instance, { ...token, session: sessionIdOf(instance, session) }),
  );
  const address = `${page}/#s=${code}`;
  const until = new Date(expiresAt).toISOString();
  if (options.json === true) return printJson({ id: name, address, access, expires_at: expiresAt });
  await print(`${address}\n`);
  if (options.qr === true) await print(await picture(address));
  if (access === "operate")
    complain(`the first viewer of this link types as you until ${until}: treat it like your keyboard`);
  else complain(`the first viewer of this link sees the session until ${until}`);
  complain("it admits one browser: create another link for another viewer");
  if (options.local === true) {
    const { port } = new URL(page);
    complain(`on the other machine, run first: ${tunnelLine(port)}`);
  }
  complain(`to revoke it: wsh share --revoke ${name}`);
}

/** Numbers a link after the valid ones. */
function nextName(tokens: readonly StoredToken[]): string {
  const numbers = tokens.map(({ name }) => (name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : 0));
  return `${PREFIX}${Math.max(0, ...numbers.filter(Number.isInteger)) + 1}`;
}

/** Address of the page, without a slash at its end, as others reach it. @throws WshError server_unavailable */
async function publicPage(instance: Instance): Promise<string> {
  const info = running(instance);
  if (info.public_url !== undefined) return `${info.public_url}${info.base_prefix}`;
  const { public_url } = (await settingsOf(instance)).values;
  if (public_url !== "") {
    throw new WshError("server_unavailable", `the running server does not use public_url (${public_url}) yet`, {
      hint: "Restart the server (sessions keep running).",
    });
  }
  for (const address of info.addresses) {
    const { protocol, hostname, port } = new URL(address);
    if (protocol !== "https:" || isLocalHost(hostname)) continue;
    const host = hostname === "0.0.0.0" || hostname === "[::]" ? os.hostname() : hostname;
    return `https://${host}${port === "" ? "" : `:${port}`}${info.base_prefix}`;
  }
  const plain = info.addresses.some((address) => !isLocalHost(new URL(address).hostname));
  const why = plain ? "without TLS, the network could read the link and the session" : "others cannot reach it";
  throw new WshError("server_unavailable", `no address for other machines: ${why}`, {
    hint:
      "Either: wsh server --bind 0.0.0.0:8443 --tls-cert FILE --tls-key FILE. Or: tailscale serve 8080 (or a proxy of " +
      'yours), and public_url = "https://…" in the settings, then restart the server. Or, for people who can log in ' +
      "here: wsh share --local and ssh -L.",
  });
}

function localPage(instance: Instance): string {
  const info = running(instance);
  const [address] = info.addresses;
  if (address !== undefined) return `${address.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//127.0.0.1")}${info.base_prefix}`;
  throw new WshError("server_unavailable", "the server has no TCP address", {
    hint: "`wsh open --print` adds one.",
  });
}

function running(instance: Instance) {
  const info = isServerAlive(instance) ? readServerInfo(instance) : null;
  if (info !== null) return info;
  throw new WshError("server_unavailable", "no server is running, and a link needs one", {
    hint: "Start it: wsh server, or wsh service install.",
  });
}

function isLocalHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

/**
 * Returns the QR code as text, two rows of squares per terminal row. The light squares are drawn, in white on
 * black if colours are supported.
 */
async function picture(address: string): Promise<string> {
  const { renderUnicodeCompact } = await import("uqr");
  const rows = renderUnicodeCompact(address, { ecc: "L", border: 2 }).split("\n");
  const isColored = takesColor(process.stdout);
  return rows.map((row) => (isColored ? `\x1b[97;40m${row}\x1b[0m\n` : `${row}\n`)).join("");
}

async function list(instance: Instance, json: boolean): Promise<void> {
  const now = Date.now();
  const links = readTokens(instance).filter((token) => token.share === true && !hasExpired(token, now));
  const infos = (await findAll(instance)).flatMap((one) => ("info" in one ? [one.info] : []));
  const rows = links.map(({ name: id, access, session, created_at, expires_at, browser }) => {
    const info = infos.find((each) => each.id === session);
    const viewers = (info?.viewers ?? []).filter(({ name }) => name === id || name.startsWith(`${id} `));
    const used = browser !== undefined;
    return {
      id,
      session: info?.name ?? null,
      session_id: session ?? null,
      access,
      created_at,
      expires_at,
      used,
      viewers,
    };
  });
  if (json) return printJson(rows);
  if (rows.length === 0) return printText("No links.\n");
  const endText = (ms: number | undefined): string => (ms === undefined ? "never" : new Date(ms).toISOString());
  await print(
    table([
      ["ID", "SESSION", "ACCESS", "ENDS", "VIEWERS"],
      ...rows.map(({ id, session, session_id, access, expires_at, used, viewers }) => {
        const people = viewers.map(({ name }) => name.slice(id.length).trim() || "a page");
        return [
          id,
          session ?? `gone (${session_id})`,
          access,
          endText(expires_at),
          used ? viewersCell(people) : "not opened yet",
        ];
      }),
    ]),
  );
}

function viewersCell(people: readonly string[]): string {
  return people.length === 0 ? "0" : `${people.length}: ${people.join(", ")}`;
}

async function revoke(instance: Instance, id: string): Promise<void> {
  if (!readTokens(instance).some(({ name, share }) => name === id && share === true)) {
    throw new WshError("invalid_request", `no link '${id}'`, { hint: "wsh share --list lists them." });
  }
  await recordAction(instance, "share.revoke", { name: id }, () => revokeToken(instance, id));
  await printText(`Link '${id}' revoked.\n`);
}
