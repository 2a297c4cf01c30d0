/**
 * Turns a spec into a running session: checks everything before claiming anything, and claims before running
 * anything. Further panes of the session are planned in the same way (`SessionProcess.startProgram`).
 */
import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../base/random-token.ts";
import type { Replay } from "../checkpoints/live/replay.ts";
import { type Instance, prepareRuntimeDir } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";
import { openUnnamedFile } from "../instance/unnamed-file.ts";
import { KeyFile } from "../launch/key-file.ts";
import { selfCommand } from "../launch/launch.ts";
import { installScripts, restoreScripts } from "../launch/script-files.ts";
import type { RestoredSpec, SessionSpec } from "../launch/session-spec.ts";
import { writeStdinFile } from "../launch/stdin-file.ts";
import type { ChildKey } from "../pane/commands/child-shells.ts";
import { defaultCommandLimits } from "../pane/commands/commands-port.ts";
import { type EarlyStart, startEarly } from "../pane/early-start.ts";
import type { SpoolLimits } from "../pane/output/spool.ts";
import { Pane } from "../pane/pane.ts";
import {
  checkRequest,
  planProgram,
  type SpawnRequest,
  wantsIntegration,
  withStdout,
  wrapProgram,
} from "../pane/spawn-plan.ts";
import type { PaneOptions } from "../pane/types.ts";
import { checkNewName, checkSessionName, paneId } from "../protocol/names.ts";
import type { Owner } from "../protocol/owner.ts";
import type { Size } from "../protocol/size.ts";
import { VERSION } from "../protocol/version.ts";
import { openPty } from "../pty/open.ts";
import type { MadeRequest } from "../registry/made-requests.ts";
import { type ClaimResult, claimCrashed, claimSession, type NameRule } from "../registry/register.ts";
import type { Settings } from "../settings/table.ts";
import { childEnvironment, type SessionIdentity } from "../shell/environment.ts";
import { integrationFiles, integrationNames } from "../shell/integration.ts";
import type { ShellPlan } from "../shell/plan.ts";
import { defaultProfile } from "../terminal/profile.ts";
import { variablesFilePath } from "./terminal-variable-files.ts";

/** Characters of a pane's nonce: 95 bits, which output cannot guess. */
const NONCE_LENGTH = 16;
/** Longest time that a program's output is held for its follower, in ms: a follower that takes longer has died. */
const MAX_FOLLOWER_HOLD_MS = 5_000;
/** Tag of the sessions that exec creates. */
const EXEC_TAG = "exec";

/** The program of a pane, and its owner. */
export type PaneRequest = Pick<SessionSpec, "create" | "env" | "cwd" | "nofile"> &
  Partial<Pick<SessionSpec, "followed" | "opened" | "stdin_path" | "stdout_path" | "restored">> & {
    /** A file that its program gets as standard output instead of the terminal. */
    readonly printPath?: string | undefined;
  };

/** Dependencies of a new pane. */
export interface PaneDependencies {
  readonly instance: Instance;
  readonly settings: Settings;
}

/** A pane whose program can be started; discarding it leaves nothing behind. */
export interface PlannedPane {
  readonly replay: Replay | null;
  /** Creates the pane without its program. @param isPrivate called whenever data of it would be stored */
  make(identity: {
    readonly id: number;
    readonly session: string;
    readonly tmux: SessionIdentity["tmux"];
    readonly owner: Owner | undefined;
    isPrivate(): boolean;
  }): Promise<Pane>;
  discard(): void;
}

/** @throws WshError of sessions.create: nothing is left behind then */
export async function planPane(request: PaneRequest, { instance, settings }: PaneDependencies): Promise<PlannedPane> {
  const { restored } = request;
  const create = withDefaultCommand(request, settings);
  const spawn: SpawnRequest = { ...create, caller: request };
  const cwd = checkRequest(spawn);
  prepareRuntimeDir(instance);
  const nonce = randomToken(NONCE_LENGTH);
  const [program = null, ...sourceArguments] = selfCommand([]);
  const executable = sourceArguments.length === 0 ? program : null;
  const environmentFor = (
    session: string,
    pane: string,
    tmux: SessionIdentity["tmux"] = null,
    owner?: Owner,
  ): Record<string, string> =>
    childEnvironment(request.env, {
      session,
      pane,
      instance: instance.name,
      socket: instance.httpSocket,
      version: VERSION,
      executable,
      refreshed: variablesFilePath(instance),
      tmux,
      agent: owner?.kind === "agent" ? owner.name : null,
      term: settings.term,
      overrides: {
        ...(settings.default_shell === "" ? {} : { SHELL: settings.default_shell }),
        ...settings.env,
        ...create.env,
      },
    });
  const integration = wantsIntegration(settings.shell_integration, request.env);
  const scriptsDir = integration ? installScripts(instance, integrationFiles()) : "";
  const keyFile = new KeyFile(instance, nonce);
  const shellPlan = planProgram(spawn, {
    env: environmentFor("", ""),
    scriptsDir,
    keyFile: keyFile.path,
    loginShell: settings.login_shell,
    integration,
  });
  const replay = restored === undefined ? null : await replayCrashedPane(restored, create, shellPlan);
  let stdinFile: string | null = null;
  let earlyStart: EarlyStart | null = null;
  const { rows, cols } = create;
  return {
    replay,
    async make({ id, session, tmux, owner, isPrivate }) {
      if (create.stdin !== undefined) stdinFile = writeStdinFile(instance, create.stdin);
      const env = { ...environmentFor(session, paneId(id), tmux, owner), ...shellPlan.set };
      for (const name of shellPlan.unset) delete env[name];
      const program = {
        ...withStdout(
          request.printPath,
          wrapProgram(shellPlan, stdinSource(stdinFile, request.stdin_path), request.stdout_path),
        ),
        cwd,
        env,
        openFiles: request.nofile,
        rows,
        cols,
        inputLimitBytes: settings.max_input_bytes,
      };
      const startOptions = {
        open: await openPty(settings.pty),
        ...(shellPlan.integration.active ? { keyFile: keyFileWithScripts(keyFile, scriptsDir) } : {}),
      };
      // A pane's restored contents precede its program's output.
      if (replay === null) earlyStart = startEarly(program, startOptions);
      return new Pane({
        id: paneId(id),
        command: shellPlan.displayCommand,
        spawn: program,
        ...(earlyStart ?? startOptions),
        nonce,
        ...(integration ? { newKey: () => makeChildKey(instance, scriptsDir) } : {}),
        shell: {
          kind: shellPlan.kind,
          command: create.command === shellPlan.displayCommand ? shellPlan.displayCommand : null,
          integration: shellPlan.integration,
        },
        owner,
        spool: spoolLimits(instance, settings, isPrivate),
        isRequested: create.tags.includes(EXEC_TAG),
        ...(replay === null ? {} : { restored: replay.restored }),
        ...(request.followed === true ? { heldMs: MAX_FOLLOWER_HOLD_MS } : {}),
        ...paneSettings(settings),
      });
    },
    discard() {
      earlyStart?.discard();
      keyFile.withdraw();
      if (stdinFile !== null) fs.rmSync(stdinFile, { force: true });
    },
  };
}

/** A session that a person opens without a command runs the command of the settings. */
function withDefaultCommand({ create, opened }: PaneRequest, { default_command }: Settings): PaneRequest["create"] {
  const usesDefaultCommand =
    opened === true && create.command == null && create.shell == null && default_command !== "";
  return usesDefaultCommand ? { ...create, command: default_command } : create;
}

/** Claims the idempotent request that creates the session. @throws WshError request_conflict */
export async function claimRequest(instance: Instance, once: SessionSpec["once"]): Promise<MadeRequest | null> {
  if (once === undefined) return null;
  const { takeRequest } = await import("../registry/made-requests.ts");
  return takeRequest(instance, once);
}

/** Registers the session: with new ids, or with those that it had. */
export async function registerSession(
  spec: SessionSpec,
  instance: Instance,
  settings: Settings,
  bind: (path: string) => void,
): Promise<ClaimResult> {
  const { restored, split } = spec;
  const rule = nameRule(spec);
  const maxSessions = spec.max_sessions ?? settings.max_sessions;
  if (restored === undefined) return claimSession(instance, { name: rule, maxSessions, bind });
  const { pane, session, window, run } = restored;
  const name = rule.kind === "exact" ? rule.name : "";
  const crashed = { id: split?.owner ?? pane, session, window, name, ended: !run };
  return { ...(await claimCrashed(instance, crashed, maxSessions, bind)), tooOld: [] };
}

/** The contents of a crashed pane. A command that cannot be put at the prompt is named in a note below the rule. */
async function replayCrashedPane(restored: RestoredSpec, size: Size, plan: ShellPlan): Promise<Replay> {
  const { replay } = await import("../checkpoints/live/replay.ts");
  const { directory, pane, why, run, notes, numbers } = restored;
  const { rows, cols } = size;
  const replayed = replay({ directory, pane, why, run, rows, cols, notes, numbers });
  if (plan.integration.active || replayed.foreground === null) return replayed;
  const messages = [...notes, `It ran: ${replayed.foreground.line}`];
  return replay({ directory, pane, why, run, rows, cols, notes: messages, numbers });
}

/** Restores the scripts at every start of the shell, including restarts: without them zsh reads no .zshrc. */
function keyFileWithScripts(keyFile: KeyFile, directory: string): Pick<KeyFile, "offer" | "withdraw"> {
  return {
    offer() {
      try {
        restoreScripts(directory, integrationFiles());
        keyFile.offer();
      } catch (thrown) {
        throw refused("the shell's integration scripts cannot be written", thrown);
      }
    },
    withdraw: () => keyFile.withdraw(),
  };
}

/** A secret and a key file for a shell that runs inside the pane's shell. */
function makeChildKey(instance: Instance, directory: string): ChildKey {
  const nonce = randomToken(NONCE_LENGTH);
  const file = new KeyFile(instance, nonce);
  return {
    nonce,
    path: file.path,
    script: (kind) => join(directory, integrationNames[kind]),
    ...keyFileWithScripts(file, directory),
  };
}

function stdinSource(ownPath: string | null, givenPath: string | undefined): { path: string; isOurs: boolean } | null {
  if (ownPath !== null) return { path: ownPath, isOurs: true };
  return givenPath === undefined ? null : { path: givenPath, isOurs: false };
}

/** @param isPrivate called before a file is opened: a private session has none */
function spoolLimits(instance: Instance, settings: Settings, isPrivate: () => boolean): SpoolLimits | null {
  const { spool_command_bytes: commandBytes, spool_session_bytes: totalBytes } = settings;
  if (commandBytes === 0 || totalBytes === 0) return null;
  const openFile = (): number => {
    if (isPrivate()) throw new Error("the session is private");
    return openUnnamedFile(instance);
  };
  return { commandBytes, totalBytes, openFile };
}

/** The settings that apply to every pane. */
function paneSettings(settings: Settings) {
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
      execHistory: settings.exec_history,
      records: settings.max_commands,
      totalBytes: settings.max_command_bytes,
      recordBytes: Math.min(defaultCommandLimits.recordBytes, settings.max_command_bytes),
    },
  } satisfies Partial<PaneOptions>;
}

/** @throws WshError invalid_session_name */
function nameRule({ create, naming, restored }: SessionSpec): NameRule {
  // A restored session keeps its name.
  const checkName = restored === undefined ? checkNewName : checkSessionName;
  if (typeof create.name === "string") return { kind: "exact", name: checkName(create.name) };
  if (create.name_prefix !== undefined) return { kind: "prefix", prefix: create.name_prefix };
  return { kind: naming };
}

/** Ids, program and owner of a pane that will be added to the session. */
export interface PaneRegistration {
  readonly id: number;
  readonly window: number;
  readonly request: PaneRequest;
  readonly startedByProgram: boolean;
  /** Its owner; absent: unknown. */
  readonly owner?: Owner | undefined;
  /** Whether it disappears with its program. Nothing of it is stored then. */
  readonly isPopup?: boolean | undefined;
}
