/**
 * Turns a spec into a running session: checks everything before claiming anything, and claims before running anything.
 * Further panes of the session are made in the same way (panes/start.ts).
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
import { personFile } from "./person-files.ts";

/** Characters of a pane's nonce: 95 bits, which output cannot guess. */
const NONCE_LENGTH = 16;
/** Longest time for which a program's output is held for a follower, in ms: a longer wait means that its starter died. */
const FOLLOWER_PATIENCE_MS = 5_000;
/** Tag of the sessions that exec creates. */
const EXEC_TAG = "exec";

/** The program of a pane, and its owner. */
export type PaneRequest = Pick<SessionSpec, "create" | "env" | "cwd" | "nofile"> &
  Partial<Pick<SessionSpec, "followed" | "opened" | "stdin_path" | "stdout_path" | "restored">> & {
    /** A file that its program gets as standard output instead of the terminal. */
    readonly printPath?: string | undefined;
  };

/** Dependencies of a new pane. */
export interface PaneHome {
  readonly instance: Instance;
  readonly settings: Settings;
}

/** A pane whose program can be started; discarding it leaves nothing behind. */
export interface PlannedPane {
  readonly replayed: Replay | null;
  /** Creates the pane without its program. @param isPrivate called whenever data of it would be stored */
  make(as: {
    readonly id: number;
    readonly session: string;
    readonly tmux: SessionIdentity["tmux"];
    readonly owner: Owner | undefined;
    isPrivate(): boolean;
  }): Promise<Pane>;
  discard(): void;
}

/** @throws WshError of sessions.create: nothing is left behind then */
export async function planPane(request: PaneRequest, { instance, settings }: PaneHome): Promise<PlannedPane> {
  const { restored } = request;
  const create = withDefault(request, settings);
  const spawn: SpawnRequest = { ...create, caller: request };
  const cwd = checkRequest(spawn);
  prepareRuntimeDir(instance);
  const nonce = randomToken(NONCE_LENGTH);
  const [program = null, ...fromSource] = selfCommand([]);
  const executable = fromSource.length === 0 ? program : null;
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
      refreshed: personFile(instance),
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
  const plan = planProgram(spawn, {
    env: environmentFor("", ""),
    scriptsDir,
    keyFile: keyFile.path,
    loginShell: settings.login_shell,
    integration,
  });
  const replayed = restored === undefined ? null : await replayOf(restored, create, plan);
  let stdinFile: string | null = null;
  let early: EarlyStart | null = null;
  const { rows, cols } = create;
  return {
    replayed,
    async make({ id, session, tmux, owner, isPrivate }) {
      if (create.stdin !== undefined) stdinFile = writeStdinFile(instance, create.stdin);
      const env = { ...environmentFor(session, paneId(id), tmux, owner), ...plan.set };
      for (const name of plan.unset) delete env[name];
      const program = {
        ...withStdout(
          request.printPath,
          wrapProgram(plan, stdinOf(stdinFile, request.stdin_path), request.stdout_path),
        ),
        cwd,
        env,
        openFiles: request.nofile,
        rows,
        cols,
        inputLimitBytes: settings.max_input_bytes,
      };
      const start = {
        open: await openPty(settings.pty),
        ...(plan.integration.active ? { keyFile: startFiles(keyFile, scriptsDir) } : {}),
      };
      // A pane's restored contents precede its program's output.
      if (replayed === null) early = startEarly(program, start);
      return new Pane({
        id: paneId(id),
        command: plan.displayCommand,
        spawn: program,
        ...(early ?? start),
        nonce,
        ...(integration ? { newKey: () => childKey(instance, scriptsDir) } : {}),
        shell: {
          kind: plan.kind,
          command: create.command === plan.displayCommand ? plan.displayCommand : null,
          integration: plan.integration,
        },
        spool: spoolOf(instance, settings, isPrivate),
        isRequested: create.tags.includes(EXEC_TAG),
        ...(replayed === null ? {} : { restored: replayed.restored }),
        ...(request.followed === true ? { heldMs: FOLLOWER_PATIENCE_MS } : {}),
        ...paneSettings(settings),
      });
    },
    discard() {
      early?.discard();
      keyFile.withdraw();
      if (stdinFile !== null) fs.rmSync(stdinFile, { force: true });
    },
  };
}

/** A session that a person opens without a command runs the command of the settings. */
function withDefault({ create, opened }: PaneRequest, { default_command }: Settings): PaneRequest["create"] {
  const isOpen = opened === true && create.command == null && create.shell == null && default_command !== "";
  return isOpen ? { ...create, command: default_command } : create;
}

/** Claims the request for which the session is made. @throws WshError request_conflict */
export async function claimRequest(instance: Instance, once: SessionSpec["once"]): Promise<MadeRequest | null> {
  if (once === undefined) return null;
  const { takeRequest } = await import("../registry/made-requests.ts");
  return takeRequest(instance, once);
}

/** Registers the session: with new ids, or with those that it had. */
export async function claimFor(
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

/** The contents of a crashed pane; a note below the rule has what cannot be put at the prompt. */
async function replayOf(restored: RestoredSpec, size: Size, plan: ShellPlan): Promise<Replay> {
  const { replay } = await import("../checkpoints/live/replay.ts");
  const { directory, pane, why, run, notes, numbers } = restored;
  const { rows, cols } = size;
  const made = replay({ directory, pane, why, run, rows, cols, notes, numbers });
  if (plan.integration.active || made.foreground === null) return made;
  const messages = [...notes, `It ran: ${made.foreground.line}`];
  return replay({ directory, pane, why, run, rows, cols, notes: messages, numbers });
}

/**
 * Every start of the shell, the first and each restart, restores the scripts: without them zsh reads no .zshrc at all.
 */
function startFiles(keyFile: KeyFile, directory: string): Pick<KeyFile, "offer" | "withdraw"> {
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

/** A secret and a file for a shell inside the session's own one. */
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

/** @param isPrivate called before a file is opened: a private session has none */
function spoolOf(instance: Instance, settings: Settings, isPrivate: () => boolean): SpoolLimits | null {
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
  // A restored session keeps the name that it had.
  const check = restored === undefined ? checkNewName : checkSessionName;
  if (typeof create.name === "string") return { kind: "exact", name: check(create.name) };
  if (create.name_prefix !== undefined) return { kind: "prefix", prefix: create.name_prefix };
  return { kind: naming };
}

/** A pane that will be added to the session. */
export interface MadePane {
  readonly id: number;
  readonly window: number;
  readonly request: PaneRequest;
  readonly startedByProgram: boolean;
  /** Its owner; absent: unknown. */
  readonly owner?: Owner | undefined;
  /** Whether it disappears with its program, so that nothing of it is kept. */
  readonly isPopup?: boolean | undefined;
}
