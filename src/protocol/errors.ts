/**
 * The one table of error codes. A code determines the HTTP status and the default hint. The domain throws these errors;
 * each transport turns them into a reply.
 */

import { type Door, inWordsOf } from "./doors.ts";

interface ErrorKind {
  /** HTTP status of a reply that carries the code. */
  readonly status: number;
  /** The caller's remedy in one sentence; names in braces differ by transport (`doors.ts`). */
  readonly hint: string;
}

const kinds = {
  auth_required: { status: 401, hint: "Send 'Authorization: Bearer TOKEN'; `wsh token` prints the token." },
  auth_invalid: { status: 403, hint: "The server does not know this token; `wsh token` prints the current one." },
  access_denied: { status: 403, hint: "Use a token whose scope covers this operation." },
  origin_not_allowed: { status: 403, hint: "Start the server with --cors-origin to allow this origin." },
  host_not_allowed: {
    status: 403,
    hint: "Address the server by one of its own names, such as 127.0.0.1 or localhost.",
  },
  session_not_found: { status: 404, hint: "{sessions} shows which exist." },
  pane_not_found: { status: 404, hint: "List the session's panes to see which exist." },
  overlay_not_found: { status: 404, hint: "{overlays} which exist." },
  panel_not_found: { status: 404, hint: "{panels} which exist." },
  command_not_found: { status: 404, hint: "{commands}." },
  question_not_found: {
    status: 404,
    hint: "A session keeps an ask_id for its next 64 questions; {asks} the open ones.",
  },
  checkpoint_not_found: { status: 404, hint: "{checkpoints} which exist." },
  client_not_found: { status: 404, hint: "`wsh clients` shows which are attached." },
  buffer_not_found: { status: 404, hint: "List the paste buffers to see which exist." },
  server_not_found: { status: 404, hint: "Leave 'server' out, or name this server's own hostname." },
  machine_not_found: { status: 404, hint: "{machines} lists the known machines." },
  no_sessions: { status: 404, hint: "Create a session first, or use another tag." },
  invalid_request: { status: 400, hint: "Correct the request; {fields}." },
  invalid_format: { status: 400, hint: "Use 'plain' or 'styled'." },
  invalid_overlay: { status: 400, hint: "Stay within 4096 spans or writes of 65536 bytes each." },
  invalid_layout: {
    status: 400,
    hint: "Nothing was changed. The session's list of windows shows the layout of its panes.",
  },
  invalid_tag: { status: 400, hint: "A tag is 1 to 64 of the characters A-Z a-z 0-9 . _ -, and not . or .." },
  invalid_session_name: {
    status: 400,
    hint: "A name is 1 to 64 visible characters and blanks between them, without : / ~, does not begin with @, and is not . or ..",
  },
  invalid_label: {
    status: 400,
    hint: "A label is 1 to 64 of the characters A-Z a-z 0-9 . _ -, does not begin with -, and is not . or ..",
  },
  invalid_instance_name: { status: 400, hint: "An instance name is 1 to 32 of the characters A-Z a-z 0-9 _ -" },
  invalid_machine_name: { status: 400, hint: "A machine's name is 1 to 64 of the characters A-Z a-z 0-9 _ -" },
  invalid_address: { status: 400, hint: "An address is ssh://[user@]host[:port] or https://host[:port]." },
  invalid_credentials: { status: 400, hint: "Create a new invitation with `wsh fleet invite` and join with it." },
  invalid_cursor: {
    status: 400,
    hint: "A cursor belongs to the pane that returned it: name that pane by its id, or pass a cursor of this pane.",
  },
  invalid_setting: { status: 400, hint: "`wsh config` prints every setting with its value and origin." },
  not_focusable: { status: 400, hint: "Create the element with focusable: true." },
  unknown_shell: { status: 400, hint: "Use a path, or one of bash, zsh, fish, sh, pwsh." },
  shell_not_found: { status: 400, hint: "Give the path of an executable that exists." },
  cwd_not_found: { status: 400, hint: "Give a directory that exists." },
  unknown_key: { status: 400, hint: "Nothing was sent. Use a key name such as Enter, Ctrl+C, Alt+x, Up, F5." },
  regex_too_slow: { status: 400, hint: "Use a simpler pattern, or a text condition." },
  idle_timeout: {
    status: 408,
    hint: "The command still runs. Do not send it again; wait once more with {wait}.",
  },
  session_name_conflict: { status: 409, hint: "Choose another name, or create with if_exists: attach." },
  already_in_alt_screen: { status: 409, hint: "The session is in alt screen mode already." },
  not_in_alt_screen: { status: 409, hint: "The session is not in alt screen mode." },
  not_at_prompt: { status: 409, hint: "Wait for the prompt, or type into the program with {run} or {input}." },
  prompt_not_empty: {
    status: 409,
    hint: "Wait until the person has finished typing, or discard the line with {clear_line}.",
  },
  expect_not_met: {
    status: 409,
    hint: "Check output, prompt and state, and continue from that step. The steps before it were typed; do not send them again.",
  },
  not_echoed: {
    status: 409,
    hint: "Nothing was run. Check the screen: the program may hide its input, or may not be a shell.",
  },
  no_shell_integration: { status: 409, hint: "Use {run}, which infers the command's end from the terminal." },
  no_password_prompt: {
    status: 409,
    hint: "A secret is typed only into a program that is reading one: wait for the condition password with {wait}, then ask.",
  },
  no_agent: {
    status: 409,
    hint: "Nothing was typed. A prompt goes to an AI agent that holds the terminal itself, not behind ssh, sudo or a container; {screen} shows what does.",
  },
  agent_asks: {
    status: 409,
    hint: "Nothing was typed. Answer its question first, or have a person answer it; {screen} shows it.",
  },
  composer_not_empty: {
    status: 409,
    hint: "Nothing was typed. Wait until who typed it has sent it; {screen} shows it.",
  },
  composer_not_found: {
    status: 409,
    hint: "Nothing was typed. It may show a menu or a dialog, or still start; {screen} shows it.",
  },
  input_captured: { status: 409, hint: "Another caller has captured the keyboard; wait until it is released." },
  no_viewer: {
    status: 409,
    hint: "Attach a terminal that shows the window, or start the program in a pane.",
  },
  moved: {
    status: 421,
    hint: "Another process serves it, at details.socket; wsh's own clients follow automatically.",
  },
  request_conflict: { status: 409, hint: "Nothing was done. Use a different id for each request." },
  machine_conflict: { status: 409, hint: "{machines} shows which machine has the name." },
  server_already_running: { status: 409, hint: "Use the running server, or another instance name (-L)." },
  nested_session: { status: 409, hint: "Detach first, or start with --nested." },
  size_held: {
    status: 409,
    hint: "Detach them first, or resize with {force}; the forced size lasts until one of them types.",
  },
  session_running: { status: 409, hint: "The session is still running. Attach to it, or kill it first." },
  session_not_running: {
    status: 410,
    hint: "Its screen, scrollback and commands can still be read; {restore} restores it.",
  },
  checkpoint_too_new: { status: 409, hint: "Restore it with the version of wsh that wrote it, or a later one." },
  checkpoint_exists: { status: 409, hint: "Choose another label, or save with {replace}." },
  checkpoint_refused: { status: 409, hint: "Nothing was written. Resolve the cause, then save again." },
  checkpoint_damaged: { status: 500, hint: "See the message; nothing was changed." },
  session_ended: { status: 410, hint: "The session's program has exited; its screen stays readable for a while." },
  payload_too_large: { status: 413, hint: "Send at most 1 MiB at a time." },
  resource_limit_reached: { status: 429, hint: "Remove some first; {limits} shows the limits." },
  rate_limited: { status: 429, hint: "Wait for the time given in Retry-After." },
  input_send_failed: { status: 500, hint: "The program is not reading its input; check its screen." },
  session_create_failed: { status: 500, hint: "See the message; the session was not created." },
  internal_error: { status: 500, hint: "This is a bug in wsh; the server's log has the details." },
  history_unavailable: { status: 503, hint: "See the message. Until then, commands are recorded in journals." },
  max_sessions_reached: { status: 503, hint: "Kill a session, or raise max_sessions." },
  parser_unavailable: { status: 503, hint: "The session is ending; {sessions} lists the remaining ones." },
  session_unavailable: { status: 503, hint: "The session process does not answer; {sessions} shows its state." },
  session_crashed: { status: 503, hint: "The session process died; its log is in the state directory." },
  version_mismatch: {
    status: 503,
    hint: "It runs another version of wsh: end a session with that version, update wsh on a machine.",
  },
  machine_unreachable: { status: 503, hint: "Nothing was sent. `wsh doctor NAME` checks the connection step by step." },
  machine_busy: { status: 503, hint: "The machine accepts no more requests for now; use another one." },
  server_unavailable: { status: 503, hint: "Start the server with `wsh server`." },
  runtime_dir_unusable: {
    status: 500,
    hint: "HOME, XDG_RUNTIME_DIR and XDG_STATE_HOME must name writable directories.",
  },
  unsafe_path: {
    status: 500,
    hint: "It must belong to you, be inaccessible to others (chmod 700, files 600), and not be a symbolic link.",
  },
  socket_path_too_long: { status: 400, hint: "Use a shorter runtime directory (XDG_RUNTIME_DIR, --socket) or name." },
  lock_busy: { status: 503, hint: "Another wsh holds the instance's lock; try again." },
  outcome_unknown: {
    status: 504,
    hint: "The request was sent and may have been carried out. {again}: it is not carried out twice. Or check {status} and {screen}.",
  },
  deadline_passed: { status: 504, hint: "Nothing was done. Try again with a later deadline." },
  parser_timeout: { status: 504, hint: "The terminal is busy; try again." },
  unknown_method: { status: 404, hint: "{methods}." },
  session_required: { status: 400, hint: "Name the session in the request's 'session' field." },
  idle_superseded: { status: 409, hint: "A later await_idle on this connection replaced this one." },
  input_send_timeout: { status: 500, hint: "The program is not reading its input; check its screen." },
  cancelled: { status: 499, hint: "The caller ended the request." },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof kinds;

/** Codes that servers of 0.1.0 send, and their names since. */
const formerCodes: ReadonlyMap<string, ErrorCode> = new Map([
  ["host_unavailable", "session_unavailable"],
  ["host_crashed", "session_crashed"],
  ["host_version", "version_mismatch"],
  ["session_lost", "session_not_running"],
]);

export const errorCodes = Object.keys(kinds) as readonly ErrorCode[];

/** HTTP status of a reply that carries the code. */
export function statusOf(code: ErrorCode): number {
  return kinds[code].status;
}

/** Whether a status means that the caller is not admitted or lacks the right: the call had an answer. */
export function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** Extra keys that travel beside code, message and hint (for example exit_code of an ended session). */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** The JSON of an error in every transport: `{"error": ErrorBody}` over HTTP and WebSocket, bare in MCP results. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly [detail: string]: unknown;
}

export class WshError extends Error {
  override readonly name = "WshError";

  /**
   * @param code one of the table above
   * @param message the fault, with the offending value
   * @param details keys added to the error object on the wire; `hint` replaces the table's
   */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: ErrorDetails = {},
    private readonly options: ErrorOptions & { readonly status?: number } = {},
  ) {
    super(message, options);
  }

  /** HTTP status; a transport that has a more exact one for the same code (415 and 422 for invalid_request) sets it. */
  get status(): number {
    return this.options.status ?? kinds[this.code].status;
  }

  /** The hint as programs read it that use wsh/client. */
  get hint(): string {
    return this.hintAt("http");
  }

  /** The hint with one transport's names. */
  hintAt(door: Door): string {
    return inWordsOf(door, this.ownHint);
  }

  /** The error for a caller of one transport. */
  bodyAt(door: Door): ErrorBody {
    return { ...this.toBody(), hint: this.hintAt(door) };
  }

  /** The error for another process of wsh, which inserts the names of its own transport. */
  toBody(): ErrorBody {
    return { ...this.details, code: this.code, message: this.message, hint: this.ownHint };
  }

  private get ownHint(): string {
    const own = this.details.hint;
    return typeof own === "string" ? own : kinds[this.code].hint;
  }

  /** The error that a peer sent as JSON; an unknown code becomes internal_error and keeps its message. */
  static fromBody(body: { code?: unknown; message?: unknown }): WshError {
    const { code, message, ...details } = body;
    const named = typeof code === "string" ? (formerCodes.get(code) ?? code) : "";
    const known = Object.hasOwn(kinds, named) ? (named as ErrorCode) : "internal_error";
    return new WshError(known, typeof message === "string" ? message : "unknown error", details);
  }

  /** Converts anything thrown into the error that a transport replies with. */
  static from(thrown: unknown): WshError {
    if (thrown instanceof WshError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new WshError("internal_error", message, {}, { cause: thrown });
  }
}
