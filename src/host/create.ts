/** From a spec to a running session: everything is checked before anything is claimed, and claimed before anything runs. */
import fs from "node:fs";
import { join, resolve } from "node:path";
import { errorCode } from "../base/errno.ts";
import { hostname } from "../instance/hostname.ts";
import type { HostSpec } from "../instance/launch/host-spec.ts";
import { KeyFile } from "../instance/launch/key-file.ts";
import { installScripts } from "../instance/launch/script-files.ts";
import { type Instance, prepareRuntimeDir } from "../instance/paths.ts";
import { claimSession, type NameRule } from "../instance/registry/register.ts";
import { releaseSession } from "../instance/registry/registry.ts";
import { randomToken } from "../instance/secrets/own-secrets.ts";
import type { Settings } from "../instance/settings/table.ts";
import { defaultCommandLimits } from "../pane/commands/commands.ts";
import { Pane } from "../pane/pane.ts";
import type { PaneOptions } from "../pane/types.ts";
import { accountShell } from "../platform/account.ts";
import { WshError } from "../protocol/errors.ts";
import { checkSessionName, normalizeTags } from "../protocol/names.ts";
import { VERSION } from "../protocol/version.ts";
import { openPty } from "../pty/open.ts";
import { Session as AnySession } from "../session/session.ts";
import type { SessionRegistry, SessionSettings } from "../session/types.ts";
import { childEnvironment } from "../shell/environment.ts";
import { integrationFiles } from "../shell/integration.ts";
import { planShell, type ShellPlan } from "../shell/plan.ts";
import { defaultProfile } from "../terminal/profile.ts";
import type { HostServer } from "./host-server.ts";
import type { Session } from "./session.ts";

/** Characters of a session's nonce: 95 bits, nothing that output could guess. */
const NONCE_LENGTH = 16;
/** How long a program waits with its output for whoever wants to follow it, in ms: then its starter has died. */
const FOLLOWER_PATIENCE_MS = 5_000;
/** Longest command and stdin, in bytes (contract §1.2). */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Longest argument or variable with its NUL that Linux gives a program, in bytes (MAX_ARG_STRLEN: 32 pages). */
const MAX_ARGUMENT_BYTES = 32 * 4096;
/** Characters of a variable's name that an error repeats: more than names have. */
const SHOWN_NAME = 64;
/** Characters of a path that an error repeats. */
const SHOWN_PATH = 256;

export interface CreateOptions {
  readonly spec: HostSpec;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly server: HostServer;
  readonly registryFor: (instance: Instance, id: number) => SessionRegistry;
}

/** @throws WshError of sessions.create; then nothing is left behind */
export async function createSession(options: CreateOptions): Promise<{ session: Session; id: number }> {
  const { spec, instance, settings, server } = options;
  const { create } = spec;
  const rule = nameRule(spec);
  const tags = normalizeTags(create.tags);
  const cwd = directory(create.cwd ?? null, spec);
  checkTexts(create);
  prepareRuntimeDir(instance);
  const nonce = randomToken(NONCE_LENGTH);
  const environmentFor = (session: string): Record<string, string> =>
    childEnvironment(spec.env, {
      session,
      instance: instance.name,
      socket: instance.httpSocket,
      version: VERSION,
      overrides: create.env ?? {},
    });
  const scriptsDir = wantsIntegration(spec, settings) ? installScripts(instance, integrationFiles()) : "";
  const keyFile = new KeyFile(scriptsDir, nonce);
  const plan = shellPlan(options, environmentFor(""), scriptsDir, keyFile.path);

  let listener: { stop(): void } | null = null;
  let stdinFile: string | null = null;
  const claim = await claimSession(instance, {
    name: rule,
    maxSessions: spec.max_sessions ?? settings.max_sessions,
    bind: (path) => {
      listener = server.listen(path);
    },
  });
  if (claim.tooOld.length > 0) {
    const { askToGiveWay } = await import("./give-way.ts");
    void askToGiveWay(instance, claim.tooOld);
  }
  try {
    stdinFile = create.stdin === undefined ? null : writeStdin(instance, claim.id, create.stdin);
    const env = { ...environmentFor(claim.name), ...plan.set };
    for (const name of plan.unset) delete env[name];
    const { create: size } = spec;
    const pane = new Pane({
      id: `@${claim.id}`,
      command: plan.displayCommand,
      spawn: {
        ...programOf(plan, stdinFile),
        cwd,
        env,
        openFiles: spec.nofile,
        rows: size.rows,
        cols: size.cols,
        inputLimitBytes: settings.max_input_bytes,
      },
      open: await openPty(settings.pty),
      nonce,
      ...(plan.integration.active ? { keyFile } : {}),
      shell: {
        kind: plan.kind,
        command: create.command === plan.displayCommand ? plan.displayCommand : null,
        integration: plan.integration,
      },
      ...(spec.followed ? { heldMs: FOLLOWER_PATIENCE_MS } : {}),
      ...paneSettings(settings),
    });
    const session: Session = new AnySession(
      {
        id: claim.id,
        name: claim.name,
        tags,
        server: hostname(settings.hostname),
        rows: size.rows,
        cols: size.cols,
        settings: sessionSettings(settings),
      },
      pane,
      options.registryFor(instance, claim.id),
    );
    await pane.start();
    return { session, id: claim.id };
  } catch (error) {
    stopListening(listener);
    await releaseSession(instance, claim.id).catch(() => {});
    keyFile.withdraw();
    if (stdinFile !== null) fs.rmSync(stdinFile, { force: true });
    throw error;
  }
}

function paneSettings(settings: Settings) {
  return {
    hideClipboard: settings.clipboard === "off",
    hideTitles: settings.title === "off",
    profile: { ...defaultProfile, version: `wsh ${VERSION}` },
    resetModes: settings.reset_modes,
    historyLines: settings.scrollback_lines,
    historyBytes: settings.scrollback_bytes,
    killGraceMs: settings.kill_grace_ms,
    commands: {
      ...defaultCommandLimits,
      waiters: settings.max_waiters,
      records: settings.max_commands,
      totalBytes: settings.max_command_bytes,
      recordBytes: Math.min(defaultCommandLimits.recordBytes, settings.max_command_bytes),
    },
  } satisfies Partial<PaneOptions>;
}

function sessionSettings(settings: Settings): SessionSettings {
  return {
    graceMs: settings.grace_seconds * 1000,
    execGraceMs: settings.exec_grace_seconds * 1000,
    sizePolicy: settings.size_policy,
    elements: {
      overlays: settings.max_overlays,
      panels: settings.max_panels,
      pieces: settings.max_spans,
      pieceBytes: settings.max_span_bytes,
    },
  };
}

function stopListening(listener: { stop(): void } | null): void {
  listener?.stop();
}

function nameRule({ create, naming }: HostSpec): NameRule {
  if (typeof create.name === "string") return { kind: "exact", name: checkSessionName(create.name) };
  if (create.name_prefix !== undefined) return { kind: "prefix", prefix: create.name_prefix };
  return { kind: naming };
}

/**
 * A directory that was asked for, as seen from the caller's, must exist; the caller's own may have been deleted, then
 * home or the root serves.
 */
function directory(asked: string | null, spec: HostSpec): string {
  if (asked === null) return [spec.cwd, spec.env.HOME ?? "/"].find((path) => directoryFault(path) === null) ?? "/";
  const path = resolve(spec.cwd, asked);
  const fault = asked === "" || asked.includes("\0") ? "does not exist" : directoryFault(path);
  if (fault === null) return path;
  const shown = asked.length > SHOWN_PATH ? `${asked.slice(0, SHOWN_PATH)}…` : asked;
  throw new WshError("cwd_not_found", `the directory '${shown}' ${fault}`);
}

/** What keeps a path from being a directory to start in; null: nothing. */
function directoryFault(path: string): string | null {
  try {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return "does not exist";
    return stat.isDirectory() ? null : "is no directory";
  } catch (error) {
    return `cannot be looked at: ${errorCode(error)}`; // EACCES, ENAMETOOLONG, ELOOP
  }
}

/** @throws WshError invalid_request, payload_too_large */
function checkTexts({ command, env, stdin }: HostSpec["create"]): void {
  if (typeof command === "string") {
    if (command.includes("\0")) throw new WshError("invalid_request", "'command' holds a NUL character");
    if (command.trim() === "")
      throw new WshError("invalid_request", "'command' is empty", {
        hint: "Leave it out for a shell.",
      });
  }
  requirePassed("'command'", command ?? "", "Give a longer script as stdin of 'sh'.");
  for (const [name, value] of Object.entries(env ?? {})) {
    requirePassed(`'env.${name.slice(0, SHOWN_NAME)}'`, `${name}=${value}`, "Give the value in a file, or as stdin.");
  }
  if (stdin !== undefined && typeof command !== "string") {
    throw new WshError("invalid_request", "'stdin' needs a command that reads it");
  }
  for (const [name, text] of Object.entries({ command, stdin })) {
    if (typeof text !== "string" || Buffer.byteLength(text) <= MAX_TEXT_BYTES) continue;
    throw new WshError(
      "payload_too_large",
      `'${name}' has ${Buffer.byteLength(text)} bytes; ${MAX_TEXT_BYTES} are allowed`,
    );
  }
}

/** @throws WshError payload_too_large for what the system passes to no program as one argument or variable */
function requirePassed(what: string, text: string, hint: string): void {
  const bytes = Buffer.byteLength(text);
  if (process.platform !== "linux" || bytes < MAX_ARGUMENT_BYTES) return;
  const allowed = MAX_ARGUMENT_BYTES - 1;
  const message = `${what} has ${bytes} bytes; the system passes ${allowed} to a program in one piece`;
  throw new WshError("payload_too_large", message, { hint });
}

/** Whether shells of the session load our scripts. */
export function wantsIntegration(spec: HostSpec, settings: Settings): boolean {
  return settings.shell_integration && spec.env.WSH_SHELL_INTEGRATION !== "0";
}

/** @throws WshError unknown_shell, shell_not_found */
function shellPlan(
  options: CreateOptions,
  env: Readonly<Record<string, string>>,
  scriptsDir: string,
  keyFile: string,
): ShellPlan {
  const { spec, settings } = options;
  const { command, shell } = spec.create;
  const integration = wantsIntegration(spec, settings);
  const plan = planShell(
    {
      ...(typeof shell === "string" ? { shell } : {}),
      ...(typeof command === "string" ? { command } : {}),
      loginShell: settings.login_shell,
      integration,
    },
    {
      env,
      scriptsDir,
      keyFile,
      accountShell: env.SHELL ? null : accountShell(),
      platform: process.platform,
      findExecutable: (name) => executable(name, env.PATH ?? "/usr/bin:/bin"),
    },
  );
  if (!plan.ok) throw plan.error;
  return plan;
}

function executable(name: string, path: string): string | null {
  try {
    return Bun.which(name, { PATH: path });
  } catch {
    return null; // longer than a path can be
  }
}

/** The program itself, or a small sh in front of it that opens its standard input and becomes it. */
function programOf(
  plan: ShellPlan,
  stdinFile: string | null,
): { file: string; args: readonly string[]; argv0?: string } {
  if (stdinFile === null) {
    return { file: plan.file, args: plan.args, ...(plan.argv0 === undefined ? {} : { argv0: plan.argv0 }) };
  }
  const script = 'exec <"$1" && rm -f -- "$1" && shift && exec "$@"';
  return { file: "/bin/sh", args: ["-c", script, "sh", stdinFile, plan.file, ...plan.args] };
}

function writeStdin(instance: Instance, id: number, text: string): string {
  const path = join(instance.runtimeDir, `${instance.name}-${id}-${randomToken(8)}.stdin`);
  fs.writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  return path;
}
