/**
 * Turns a spec into a running session: checks everything before claiming anything, and claims before running anything.
 */
import fs from "node:fs";
import { join } from "node:path";
import type { SessionServer } from "../endpoint/session-server.ts";
import { sessionSettings } from "../endpoint/session-settings.ts";
import { hostname } from "../instance/hostname.ts";
import type { HostSpec, RestoredSpec } from "../instance/launch/host-spec.ts";
import { KeyFile } from "../instance/launch/key-file.ts";
import { selfCommand } from "../instance/launch/launch.ts";
import { installScripts, restoreScripts } from "../instance/launch/script-files.ts";
import { writeStdinFile } from "../instance/launch/stdin-file.ts";
import { type Instance, prepareRuntimeDir } from "../instance/paths.ts";
import { refused } from "../instance/refused.ts";
import type { SessionIds } from "../instance/registry/directories.ts";
import type { LifeLock } from "../instance/registry/life-lock.ts";
import type { MadeRequest } from "../instance/registry/made-requests.ts";
import { claimMember } from "../instance/registry/members.ts";
import { type ClaimResult, claimLost, claimSession, type NameRule } from "../instance/registry/register.ts";
import { releaseSession } from "../instance/registry/registry.ts";
import { randomToken } from "../instance/secrets/own-secrets.ts";
import type { Settings } from "../instance/settings/table.ts";
import { openUnnamedFile } from "../instance/unnamed-file.ts";
import type { ChildKey } from "../pane/commands/child-shells.ts";
import { defaultCommandLimits } from "../pane/commands/commands.ts";
import type { SpoolLimits } from "../pane/output/spool.ts";
import { Pane } from "../pane/pane.ts";
import { checkRequest, planProgram, programOf, type SpawnRequest, wantsIntegration } from "../pane/spawn-plan.ts";
import type { PaneOptions } from "../pane/types.ts";
import { checkSessionName, normalizeTags, paneId } from "../protocol/names.ts";
import { requireInTime } from "../protocol/requests.ts";
import type { Size } from "../protocol/size.ts";
import { VERSION } from "../protocol/version.ts";
import { openPty } from "../pty/open.ts";
import { parseKept } from "../session/drawing/kept.ts";
import { Session as AnySession } from "../session/session.ts";
import { childEnvironment } from "../shell/environment.ts";
import { integrationFiles, integrationNames } from "../shell/integration.ts";
import type { ShellPlan } from "../shell/plan.ts";
import { keptVariables } from "../store/checkpoint/environment.ts";
import type { HistoryFile } from "../store/checkpoint/part-writer.ts";
import { sessionDir } from "../store/checkpoint/places.ts";
import type { Foreground } from "../store/checkpoint/record.ts";
import { defaultProfile } from "../terminal/profile.ts";
import type { Replay } from "./checkpoints/replay.ts";
import type { Membership } from "./membership.ts";
import type { Session } from "./session.ts";

/** Characters of a session's nonce: 95 bits, which output cannot guess. */
const NONCE_LENGTH = 16;
/** Longest time that a program's output is held for a follower, in ms: past it, its starter has died. */
const FOLLOWER_PATIENCE_MS = 5_000;
/** Tag of the sessions that exec makes. */
const EXEC_TAG = "exec";

export interface CreateOptions {
  readonly spec: HostSpec;
  readonly instance: Instance;
  readonly settings: Settings;
  readonly server: SessionServer;
  readonly membership: Membership;
}

export interface CreatedSession {
  readonly session: Session;
  readonly ids: SessionIds;
  readonly life: LifeLock;
  /** What ran when the session was lost, and is to be brought back. */
  readonly foreground: Foreground | null;
  /** The file of its lines that the session goes on with. */
  readonly history: HistoryFile | null;
}

/** What a new program is started with. @throws WshError of sessions.create */
export function planOf(spec: HostSpec, instance: Instance, settings: Settings) {
  const { create } = spec;
  const request: SpawnRequest = { ...create, caller: spec };
  const cwd = checkRequest(request);
  prepareRuntimeDir(instance);
  const nonce = randomToken(NONCE_LENGTH);
  const [program = null, ...fromSource] = selfCommand([]);
  const executable = fromSource.length === 0 ? program : null;
  const environmentFor = (session: string, pane: string): Record<string, string> =>
    childEnvironment(spec.env, {
      session,
      pane,
      instance: instance.name,
      socket: instance.httpSocket,
      version: VERSION,
      executable,
      overrides: create.env ?? {},
    });
  const integration = wantsIntegration(settings.shell_integration, spec.env);
  const scriptsDir = integration ? installScripts(instance, integrationFiles()) : "";
  const keyFile = new KeyFile(instance, nonce);
  const plan = planProgram(request, {
    env: environmentFor("", ""),
    scriptsDir,
    keyFile: keyFile.path,
    loginShell: settings.login_shell,
    integration,
  });
  return { cwd, nonce, environmentFor, integration, scriptsDir, keyFile, plan };
}

/** @throws WshError of sessions.create; nothing is left behind then */
export async function createSession(options: CreateOptions): Promise<CreatedSession> {
  const { spec, instance, settings, server } = options;
  const { create } = spec;
  const rule = nameRule(spec);
  const tags = normalizeTags(create.tags);
  const { cwd, nonce, environmentFor, integration, scriptsDir, keyFile, plan } = planOf(spec, instance, settings);

  let listener: { stop(): void } | null = null;
  let stdinFile: string | null = null;
  const bind = (path: string): void => {
    listener = server.listen(path);
  };
  const { restored } = spec;
  const replayed = restored === undefined ? null : await replayOf(restored, create, plan);
  requireInTime(spec.deadline);
  const asked = spec.once === undefined ? null : await taken(instance, spec.once);
  const claim = await claimFor(spec, instance, settings, rule, bind).catch((thrown) => {
    asked?.undone();
    throw thrown;
  });
  if (claim.tooOld.length > 0) {
    const { askToGiveWay } = await import("./give-way.ts");
    void askToGiveWay(instance, claim.tooOld);
  }
  try {
    if (create.stdin !== undefined) {
      stdinFile = writeStdinFile(instance, create.stdin);
    }
    const env = { ...environmentFor(claim.name, paneId(claim.id)), ...plan.set };
    for (const name of plan.unset) delete env[name];
    const { create: size } = spec;
    let made: Session | null = null;
    const pane = new Pane({
      id: paneId(claim.id),
      command: plan.displayCommand,
      spawn: {
        ...programOf(plan, stdinOf(stdinFile, spec.stdin_path), spec.stdout_path),
        cwd,
        env,
        openFiles: spec.nofile,
        rows: size.rows,
        cols: size.cols,
        inputLimitBytes: settings.max_input_bytes,
      },
      open: await openPty(settings.pty),
      nonce,
      ...(integration ? { newKey: () => childKey(instance, scriptsDir) } : {}),
      ...(plan.integration.active ? { keyFile: startFiles(keyFile, scriptsDir) } : {}),
      shell: {
        kind: plan.kind,
        command: create.command === plan.displayCommand ? plan.displayCommand : null,
        integration: plan.integration,
      },
      spool: spoolOf(instance, settings, () => made?.isPrivate ?? create.private === true),
      isAskedFor: tags.includes(EXEC_TAG),
      ...(replayed === null ? {} : { restored: replayed.restored }),
      ...(spec.followed ? { heldMs: FOLLOWER_PATIENCE_MS } : {}),
      ...paneSettings(settings),
    });
    const session: Session = new AnySession(
      {
        id: claim.session,
        windowId: claim.window,
        name: claim.name,
        tags,
        private: create.private,
        server: hostname(settings.hostname),
        rows: size.rows,
        cols: size.cols,
        settings: sessionSettings(settings),
        env: keptVariables(create.env),
        ...(restored === undefined ? {} : { createdAt: restored.created_at }),
        ...(restored?.run === false ? { lost: { saved_at: restored.saved_at, why: restored.why } } : {}),
      },
      pane,
      options.membership.registry(instance, claim),
    );
    made = session;
    if (spec.member === undefined && replayed !== null) session.elements.takeOver(parseKept(replayed.record.elements));
    await pane.start();
    // Nothing was started: what is left is shown as what an ended session leaves.
    if (restored?.run === false) pane.lifetime.programEnded({ code: null, signal: null });
    const foreground = restored?.run === true ? (replayed?.foreground ?? null) : null;
    asked?.made(session.info());
    // A named checkpoint stays as it is.
    const isOwn = restored?.directory === sessionDir(instance, claim.session);
    return { session, ids: claim, life: claim.life, foreground, history: isOwn ? (replayed?.history ?? null) : null };
  } catch (error) {
    stopListening(listener);
    asked?.undone();
    await releaseSession(instance, claim.id).catch(() => {});
    claim.life.discard();
    keyFile.withdraw();
    if (stdinFile !== null) fs.rmSync(stdinFile, { force: true });
    throw error;
  }
}

async function taken(instance: Instance, once: NonNullable<HostSpec["once"]>): Promise<MadeRequest> {
  const { takeRequest } = await import("../instance/registry/made-requests.ts");
  return takeRequest(instance, once);
}

/** Takes the session's place in the registry: a new one, or the one that it had. */
async function claimFor(
  spec: HostSpec,
  instance: Instance,
  settings: Settings,
  rule: NameRule,
  bind: (path: string) => void,
): Promise<ClaimResult> {
  const { member, restored } = spec;
  const maxSessions = spec.max_sessions ?? settings.max_sessions;
  if (restored !== undefined) {
    const { pane: id, session, window, run } = restored;
    const name = member?.name ?? (rule.kind === "exact" ? rule.name : "");
    const lost = { id, session, window, name, ended: !run, isMember: member !== undefined };
    return { ...(await claimLost(instance, lost, maxSessions, bind)), tooOld: [] };
  }
  if (member === undefined) return claimSession(instance, { name: rule, maxSessions, bind });
  return { ...member, ...(await claimMember(instance, memberClaim(member, bind))), tooOld: [] };
}

/** What a lost pane had, with what cannot be said at the prompt said below the rule. */
async function replayOf(restored: RestoredSpec, size: Size, plan: ShellPlan): Promise<Replay> {
  const { replay } = await import("./checkpoints/replay.ts");
  const { directory, pane, why, run, notes, numbers } = restored;
  const { rows, cols } = size;
  const made = replay({ directory, pane, why, run, rows, cols, notes, numbers });
  if (plan.integration.active || made.foreground === null) return made;
  const said = [...notes, `It ran: ${made.foreground.line}`];
  return replay({ directory, pane, why, run, rows, cols, notes: said, numbers });
}

/** Every start of the shell, the first and each restart, finds the scripts: without them zsh reads no .zshrc at all. */
function startFiles(keyFile: KeyFile, directory: string): Pick<KeyFile, "offer" | "withdraw"> {
  return {
    offer() {
      try {
        restoreScripts(directory, integrationFiles());
        keyFile.offer();
      } catch (thrown) {
        throw refused("the scripts that the shell loads cannot be written", thrown);
      }
    },
    withdraw: () => keyFile.withdraw(),
  };
}

function memberClaim(
  { session, max_panes: maxPanes, max_all: maxAll }: NonNullable<HostSpec["member"]>,
  bind: (path: string) => void,
): Parameters<typeof claimMember>[1] {
  return { session, maxPanes, maxAll, bind };
}

/** For a shell inside the session's own one: a secret and a file of its own. */
function childKey(instance: Instance, directory: string): ChildKey {
  const nonce = randomToken(NONCE_LENGTH);
  const file = new KeyFile(instance, nonce);
  return {
    nonce,
    path: file.path,
    script: (kind) => join(directory, integrationNames[kind]),
    ...startFiles(file, directory),
  };
}

function stdinOf(own: string | null, given: string | undefined): { path: string; isOurs: boolean } | null {
  if (own !== null) return { path: own, isOurs: true };
  return given === undefined ? null : { path: given, isOurs: false };
}

/** @param isPrivate asked whenever a file is to be opened: a private session has none */
function spoolOf(instance: Instance, settings: Settings, isPrivate: () => boolean): SpoolLimits | null {
  const { spool_command_bytes: commandBytes, spool_session_bytes: totalBytes } = settings;
  if (commandBytes === 0 || totalBytes === 0) return null;
  const openFile = (): number => {
    if (isPrivate()) throw new Error("the session is private");
    return openUnnamedFile(instance);
  };
  return { commandBytes, totalBytes, openFile };
}

/** What the settings say of every pane. */
export function paneSettings(settings: Settings) {
  return {
    hideClipboard: settings.clipboard === "off",
    hideTitles: settings.title === "off",
    profile: { ...defaultProfile, version: `wsh ${VERSION}` },
    resetModes: settings.reset_modes,
    historyLines: settings.scrollback_lines,
    historyBytes: settings.scrollback_bytes,
    killGraceMs: settings.kill_grace_ms,
    agents: settings.agents,
    commands: {
      ...defaultCommandLimits,
      waiters: settings.max_waiters,
      records: settings.max_commands,
      totalBytes: settings.max_command_bytes,
      recordBytes: Math.min(defaultCommandLimits.recordBytes, settings.max_command_bytes),
    },
  } satisfies Partial<PaneOptions>;
}

function stopListening(listener: { stop(): void } | null): void {
  listener?.stop();
}

function nameRule({ create, naming }: HostSpec): NameRule {
  if (typeof create.name === "string") return { kind: "exact", name: checkSessionName(create.name) };
  if (create.name_prefix !== undefined) return { kind: "prefix", prefix: create.name_prefix };
  return { kind: naming };
}
