/** Sessions, in the form of every transport (docs/protocol.md, Sessions). */

import * as v from "valibot";
import { AgentInfoSchema } from "./agent.ts";
import { WshError } from "./errors.ts";
import { described, optional } from "./fields.ts";
import { formatTarget, paneId, sessionNumber, type Target } from "./names.ts";
import { OwnerSchema } from "./owner.ts";
import { SideSchema } from "./size.ts";
import { durationOf } from "./time-text.ts";
import { meantWindow } from "./window-target.ts";
import { WorktreeSchema } from "./worktree.ts";

export const SessionStateSchema = v.picklist([
  "prompt",
  "running",
  "waiting_for_input",
  "password",
  "fullscreen",
  "exited",
  "unresponsive",
  "crashed",
]);
export type SessionState = v.InferOutput<typeof SessionStateSchema>;

export const PaneInfoSchema = v.object({
  id: v.string(),
  index: v.number(),
  active: v.boolean(),
  last: optional(v.boolean(), "it was the active one before; absent: false"),
  pid: v.nullable(v.number()),
  command: v.string(),
  program: optional(v.string(), "name of the program in the foreground; absent: unknown"),
  rows: v.number(),
  cols: v.number(),
  cwd: v.nullable(v.string()),
  title: v.string(),
  state: SessionStateSchema,
  /** Position of its top left cell in the window, from 0; absent for a session of one pane, and while hidden. */
  row: v.optional(v.number()),
  col: v.optional(v.number()),
  /** Set if there is no room for it, another pane is zoomed, or it is a hidden floating pane. */
  hidden: v.optional(v.boolean()),
  z: optional(v.number(), "place above the tiled panes, from 1; absent: it is tiled"),
  popup: optional(v.literal(true), "it floats until its program ends, and gets all keys"),
  /** The session or pane that it shows, if it runs no program of its own. */
  view: v.optional(v.string()),
  exit_code: v.optional(v.nullable(v.number())),
  signal: v.optional(v.nullable(v.string())),
  last_exit_code: optional(v.number(), "of the last command at the prompt; absent: unknown"),
  typed_by: optional(v.string(), "the caller that is typing there now; absent: none"),
  agent: optional(AgentInfoSchema, "the AI agent in the foreground; absent: none"),
  private: optional(v.literal(true), "the session in the view is private; absent: it is not"),
});
export type PaneInfo = v.InferOutput<typeof PaneInfoSchema>;

/** A program in a pane, other than a shell that waits at its prompt. */
const RunningProgramSchema = v.object({
  pane: v.string(),
  program: described(v.string(), "its name"),
  background: described(v.boolean(), "a job of the pane's shell that is not in the foreground"),
});
export type RunningProgram = v.InferOutput<typeof RunningProgramSchema>;
/** Programs that a call has ended. */
export const EndedField = described(
  v.array(RunningProgramSchema),
  "programs that ran there, also in the background; no shells at their prompt",
);

/** `'vim', 'sleep' in the background`; empty: none. */
export function programsText(programs: readonly RunningProgram[]): string {
  const list = programs.map(({ program, background }) => `'${program}'${background ? " in the background" : ""}`);
  return [...new Set(list)].join(", ");
}

/** The name of a window without a given one: its active pane's program; if unknown, that of its command. */
export function automaticName({ program, command }: Pick<PaneInfo, "program" | "command">): string {
  return program ?? programIn(command);
}

/**
 * The name of the program that a command line starts: without `exec`, the `-` of a login shell, quotes and directories.
 */
function programIn(command: string): string {
  const [, word = ""] = /^\s*(?:exec\s+)?-?["']?([^\s"']+)/.exec(command) ?? [];
  return word.split("/").findLast((part) => part !== "") ?? "";
}

const SHELLS: ReadonlySet<string> = new Set([
  "bash",
  "zsh",
  "fish",
  "sh",
  "dash",
  "ksh",
  "mksh",
  "tcsh",
  "csh",
  "nu",
  "pwsh",
]);

/** The command of a pane in lists: its own; for an interactive shell, the program that runs there now. */
export function commandNow({ program, command }: Pick<PaneInfo, "program" | "command">): string {
  return program === undefined || isItself({ program, command }) || !isForTyping(command) ? command : program;
}

/** Whether a command is an interactive shell: without a command or script of its own. */
function isForTyping(command: string): boolean {
  const [, ...options] = command.split(/\s+/);
  return SHELLS.has(programIn(command)) && options.every((word) => /^-(?!\w*c)/.test(word));
}

function isItself({ program, command }: Pick<PaneInfo, "program" | "command">): boolean {
  return program === programIn(command);
}

/** Whether a shell is reading its startup files: it is in the foreground itself, and no command has ended yet. */
export function isStarting(info: Pick<PaneInfo, "program" | "command" | "state" | "last_exit_code">): boolean {
  const { command, state, last_exit_code } = info;
  return state === "running" && last_exit_code === undefined && isItself(info) && isForTyping(command);
}

export const WindowInfoSchema = v.object({
  id: v.string(),
  index: v.number(),
  name: v.string(),
  active: v.boolean(),
  last: optional(v.boolean(), "it was the active one before; absent: false"),
  rows: v.number(),
  cols: v.number(),
  /** Whether the active pane is zoomed: it fills the window. */
  zoomed: v.optional(v.boolean()),
  /** Whether typed input goes to every pane. */
  synchronized: v.optional(v.boolean()),
  panes: v.array(PaneInfoSchema),
});
export type WindowInfo = v.InferOutput<typeof WindowInfoSchema>;

/** For a session whose process is gone: its remaining state. */
const CrashInfoSchema = v.object({
  saved_at: described(v.number(), "Unix time in ms of its last checkpoint; anything newer is lost"),
  why: described(v.string(), "how its process ended, as far as known"),
});
export type CrashInfo = v.InferOutput<typeof CrashInfoSchema>;

/** The coming end of an unused session, of which people are warned. */
const SessionEndingSchema = v.object({
  at: described(v.number(), "Unix time in ms"),
  why: described(v.picklist(["idle", "owner_gone"]), "idle: its idle_limit; owner_gone: owner_bound"),
});
export type SessionEnding = v.InferOutput<typeof SessionEndingSchema>;

/** A page that shows a session. */
const ViewerInfoSchema = v.object({
  name: described(v.string(), "the browser or link, and the name that the page reports"),
  access: described(v.picklist(["observe", "operate"]), "whether it may type"),
  since: described(v.number(), "Unix time in ms"),
});
export type ViewerInfo = v.InferOutput<typeof ViewerInfoSchema>;

export const SessionInfoSchema = v.object({
  /** `@s3`: a target that outlives the name. For a process that does not report it, the pane's id. */
  id: v.string(),
  /** `@7`, the pane that the session's bare name addresses. */
  pane_id: v.string(),
  name: v.string(),
  /** Host name of its machine, or the name of another machine. */
  server: v.string(),
  as_of: optional(v.number(), "Unix time in ms: its machine does not answer, and this is its last known state"),
  pid: v.nullable(v.number()),
  command: v.string(),
  /** Size of the outer terminal; panes have their own sizes, without panels. */
  rows: v.number(),
  cols: v.number(),
  clients: described(v.number(), "streaming connections of every kind, not viewers: a page has several"),
  attached: described(v.number(), "attached terminals and pages: CLIENTS of wsh list"),
  tags: v.array(v.string()),
  last_activity_ms: v.number(),
  idle_ms: v.number(),
  running: v.boolean(),
  state: SessionStateSchema,
  agent: optional(AgentInfoSchema, "the AI agent in the foreground; absent: none"),
  cwd: v.nullable(v.string()),
  title: v.string(),
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
  /** Unix time in milliseconds. */
  created_at: v.number(),
  windows: v.array(WindowInfoSchema),
  owner: optional(OwnerSchema, "who made it; absent: unknown"),
  worktree: optional(WorktreeSchema, "the git worktree in which it runs; absent: none"),
  port: optional(v.number(), "the TCP port that it has on lease; absent: none"),
  crashed: optional(CrashInfoSchema, "its process is gone; it can be read and restored; absent: it is running"),
  viewers: optional(v.array(ViewerInfoSchema), "web pages that show it, besides terminals; absent: none"),
  agents_allowed: optional(
    v.array(v.string()),
    "AI agents, as owners are named, that a person has allowed to act on it; absent: none",
  ),
  private: optional(v.boolean(), "nothing of the session is kept on disk; absent: false"),
  idle_limit: optional(v.string(), "it ends after this time without use; absent: it does not"),
  ends: optional(SessionEndingSchema, "it ends soon, unless it is used; absent: it does not"),
});
export type SessionInfo = v.InferOutput<typeof SessionInfoSchema>;

/** Whether its program, or the AI agent in it, waits for a person's input or decision. */
function needsInput({ running, state, agent }: Pick<SessionInfo, "running" | "state" | "agent">): boolean {
  return running && (state === "waiting_for_input" || state === "password" || agent?.state === "needs_input");
}

/** Counts of a machine's sessions for lists of machines. */
export function countsOf(sessions: readonly SessionInfo[]): {
  readonly sessions: number;
  readonly needs_input: number;
} {
  const running = sessions.filter((each) => each.running);
  return { sessions: running.length, needs_input: running.filter(needsInput).length };
}

/**
 * Whether another process may run a session's only pane, because it came from another session. A process's own first
 * pane has the number of the process.
 */
export function mayRunElsewhere(
  { id, pane_id }: Pick<SessionInfo, "id" | "pane_id">,
  processId = sessionNumber(id),
): boolean {
  return pane_id !== paneId(processId);
}

/**
 * Checks the window and pane that a target names, so that no other is used instead. Accepts any if the
 * session's windows are unknown (its process has not answered yet).
 * @throws WshError session_not_found, invalid_request when it matches several
 */
export function requirePane(info: Pick<SessionInfo, "id" | "name" | "windows">, target: Target): void {
  if (info.windows.length === 0) return;
  if (target.kind !== "session") {
    requireId(info, target);
    return;
  }
  const { window: wanted, pane } = target;
  if (wanted === undefined || wanted === "") return;
  const match = meantWindow(info.windows, target, { automatic: ({ name }) => name, id: ({ id }) => id });
  if (match !== undefined && (match.pane === undefined || match.window.panes.some(({ index }) => index === match.pane)))
    return;
  const what = match === undefined ? `window '${wanted}'` : `pane ${pane} in window '${wanted}'`;
  throw new WshError("session_not_found", `no session '${formatTarget(target)}': '${info.name}' has no ${what}`);
}

/** The registry may have led to a process that replaced another one. */
function requireId(info: Pick<SessionInfo, "id" | "name" | "windows">, target: Target): void {
  const id = formatTarget(target);
  const own = [info.id, ...info.windows.flatMap((window) => [window.id, ...window.panes.map((pane) => pane.id)])];
  if (own.includes(id)) return;
  throw new WshError("session_not_found", `no session '${id}': '${info.name}' is '${info.id}'`);
}

const TagsSchema = described(v.array(v.string()), "labels for filtering, each 1 to 64 of A-Z a-z 0-9 . _ -");

/** Any machine that has these tags and accepts placed sessions. */
const PlaceSchema = v.strictObject({
  tags: optional(v.pipe(v.array(v.string()), v.maxLength(32)), "tags that the machine must have, all of them", []),
  strategy: optional(v.picklist(["least_loaded"]), "the less loaded of two suitable machines", "least_loaded"),
});
export type PlacementRule = v.InferOutput<typeof PlaceSchema>;

/** The time without use after which a session ends. */
const IdleLimitField = optional(
  v.pipe(
    v.string(),
    v.check(
      (text) => (durationOf(text) ?? 0) >= 1_000,
      ({ input }) => `'${input}' is not a duration of a second or more, as 30m, 12h or 7d`,
    ),
  ),
  "end it after this time (30m, 12h, 7d) without output, input or an attached terminal, but not while a program runs " +
    "in it and a person has seen it in the last day",
);

/** A TCP port for a server in the session. */
export const FreePortField = optional(
  v.picklist(["free"]),
  "with a new session: give it a free TCP port, in PORT, that no other session gets while it lives",
);

/** Input for creating a session; the domain checks names, tags, cwd and env before anything starts. */
export const CreateSessionSchema = v.object({
  name: v.optional(
    v.nullable(described(v.string(), "1 to 64 characters without : / ~ (default: the next free number)")),
  ),
  command: v.optional(v.nullable(described(v.string(), "command to run instead of an interactive shell"))),
  rows: optional(SideSchema, "height in cells, 1 to 1000", 24),
  cols: optional(SideSchema, "width in cells, 1 to 1000", 80),
  cwd: v.optional(v.nullable(described(v.string(), "an existing directory to start in"))),
  env: v.optional(
    v.nullable(described(v.record(v.string(), v.string()), "environment variables set over the default ones")),
  ),
  tags: v.optional(TagsSchema, []),
  shell: v.optional(v.nullable(described(v.string(), "a path, or bash, zsh, fish, sh, pwsh (default: $SHELL)"))),
  if_exists: optional(
    v.picklist(["error", "attach"]),
    "when the name is in use: fail, or return the session that has it",
    "error",
  ),
  server: v.optional(
    v.nullable(described(v.string(), "the machine to start it on (default: the one that receives the request)")),
  ),
  place: v.optional(v.nullable(described(PlaceSchema, "start it on any other suitable machine, instead of server"))),
  worktree: v.optional(
    v.nullable(
      described(
        v.pipe(v.string(), v.maxLength(200)),
        "a branch, made if missing: the session runs in a git worktree of its own for it",
      ),
    ),
  ),
  port: FreePortField,
  idle_limit: IdleLimitField,
  owner_bound: optional(v.boolean(), "end it a minute after its creator: the agent's process, or the connection"),
  private: optional(v.boolean(), "keep nothing of the session on disk, and its commands out of the history"),
  opened: optional(v.boolean(), "a person opens it: without a command it runs that of the setting default_command"),
  /** Prefix of the session's number if no name is given. */
  name_prefix: optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9._-]{1,32}$/)), "prefix of the automatic name"),
  /** Standard input of the command, if there is one. */
  stdin: optional(v.string(), "text that the command reads as its standard input"),
});
/** Result of creating a session: the session, and the cursor up to which the caller has seen its output. */
export const CreatedSessionSchema = v.object({
  ...SessionInfoSchema.entries,
  output_cursor: v.number(),
  warnings: v.optional(v.array(v.string())),
});
export type CreatedSession = v.InferOutput<typeof CreatedSessionSchema>;

export const UpdateSessionSchema = v.object({
  name: optional(v.string(), "the new name"),
  add_tags: v.optional(TagsSchema, []),
  remove_tags: v.optional(TagsSchema, []),
  private: optional(v.boolean(), "whether nothing of the session is kept on disk"),
});
export type UpdateSession = v.InferOutput<typeof UpdateSessionSchema>;

/** Reason for a session's end. */
export const EndReasonSchema = v.picklist([
  "exited",
  "killed",
  "session_crashed",
  "server_stopped",
  "owner_gone",
  "idle",
]);
export type EndReason = v.InferOutput<typeof EndReasonSchema>;
