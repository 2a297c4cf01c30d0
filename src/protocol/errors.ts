/**
 * The one table of error codes. A code determines the HTTP status and the default hint. The domain throws these errors;
 * each transport turns them into a reply.
 */

import { type Door, inWordsOf } from "./doors.ts";

interface ErrorKind {
  /** HTTP status of a reply that carries the code. */
  readonly status: number;
  /** What the caller can do about it, in one sentence; names in braces are each door's own (`doors.ts`). */
  readonly hint: string;
}

const kinds = {
  auth_required: { status: 401, hint: "Send 'Authorization: Bearer TOKEN'; `wsh token` prints the token." },
  auth_invalid: { status: 403, hint: "The token is not one of this server's; `wsh token` prints the current one." },
  access_denied: { status: 403, hint: "Use a token whose scope covers this operation." },
  origin_not_allowed: { status: 403, hint: "Start the server with --cors-origin to allow this origin." },
  host_not_allowed: { status: 403, hint: "Address the server by a name of its own, such as 127.0.0.1 or localhost." },
  session_not_found: { status: 404, hint: "{sessions} shows which exist." },
  pane_not_found: { status: 404, hint: "List the session's panes to see which exist." },
  overlay_not_found: { status: 404, hint: "{overlays} which exist." },
  panel_not_found: { status: 404, hint: "{panels} which exist." },
  command_not_found: { status: 404, hint: "{commands}." },
  question_not_found: {
    status: 404,
    hint: "An ask_id is kept for its session's next 64 questions; {asks} those that are not answered.",
  },
  checkpoint_not_found: { status: 404, hint: "{checkpoints} which exist." },
  buffer_not_found: { status: 404, hint: "List the session's paste buffers to see which exist." },
  server_not_found: { status: 404, hint: "Leave 'server' out, or name this server's own hostname." },
  machine_not_found: { status: 404, hint: "{machines} shows which are known." },
  no_sessions: { status: 404, hint: "Create a session first, or use another tag." },
  invalid_request: { status: 400, hint: "Correct the request; {fields}." },
  invalid_format: { status: 400, hint: "Use 'plain' or 'styled'." },
  invalid_overlay: { status: 400, hint: "Stay within 4096 spans or writes of 65536 bytes each." },
  invalid_layout: { status: 400, hint: "Nothing was changed. The session's list of windows shows how its panes lie." },
  invalid_tag: { status: 400, hint: "A tag is 1 to 64 of the characters A-Z a-z 0-9 . _ -, and not . or .." },
  invalid_session_name: { status: 400, hint: "A name is 1 to 64 of the characters A-Z a-z 0-9 . _ -, and not . or .." },
  invalid_label: {
    status: 400,
    hint: "A label is 1 to 64 of the characters A-Z a-z 0-9 . _ -, begins with no -, and is not . or ..",
  },
  invalid_instance_name: { status: 400, hint: "An instance name is 1 to 32 of the characters A-Z a-z 0-9 _ -" },
  invalid_machine_name: { status: 400, hint: "A machine's name is 1 to 64 of the characters A-Z a-z 0-9 _ -" },
  invalid_address: { status: 400, hint: "An address is ssh://[user@]host[:port] or https://host[:port]." },
  invalid_credentials: { status: 400, hint: "Have a line made by `wsh fleet invite`, and join with it again." },
  invalid_cursor: {
    status: 400,
    hint: "It belongs to the pane that gave it: name that pane by its id, or pass one that this pane gave.",
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
    hint: "What was started still runs and must not be sent again; wait once more with {wait}.",
  },
  session_name_conflict: { status: 409, hint: "Choose another name, or create with if_exists: attach." },
  already_in_alt_screen: { status: 409, hint: "The session is in alt screen mode already." },
  not_in_alt_screen: { status: 409, hint: "The session is not in alt screen mode." },
  not_at_prompt: { status: 409, hint: "Wait for the prompt, or type into the program with {run} or {input}." },
  prompt_not_empty: {
    status: 409,
    hint: "Wait until the person who types there is done, or throw the line away with {clear_line}.",
  },
  expect_not_met: {
    status: 409,
    hint: "Look at output, prompt and state, and go on from that step: the steps before it were typed and must not be sent again.",
  },
  not_echoed: {
    status: 409,
    hint: "Nothing was run. Look at the screen: what reads there may hide what is typed, or be no shell.",
  },
  no_shell_integration: { status: 409, hint: "Use {run}, which judges the end by what it sees." },
  no_password_prompt: {
    status: 409,
    hint: "A secret goes only to a program that reads one now: wait for the condition password with {wait}, then ask.",
  },
  input_captured: { status: 409, hint: "Another owner holds the keyboard; wait until it releases it." },
  moved: {
    status: 421,
    hint: "Another process serves it, at details.socket; wsh's own clients go there by themselves.",
  },
  request_conflict: { status: 409, hint: "Nothing was done. Give each request an id of its own." },
  machine_conflict: { status: 409, hint: "{machines} shows what has the name." },
  server_already_running: { status: 409, hint: "Use the server that runs, or another instance name (-L)." },
  nested_session: { status: 409, hint: "Detach first, or start with --nested." },
  size_held: { status: 409, hint: "Detach them first, or resize with {force}; it holds until one of them types." },
  session_running: { status: 409, hint: "Nothing of it is lost: attach to it, or end it first." },
  session_lost: { status: 410, hint: "Its screen, scrollback and commands can be read; {restore} makes it run again." },
  checkpoint_too_new: { status: 409, hint: "Restore it with the wsh that wrote it, or a later one." },
  checkpoint_exists: { status: 409, hint: "Choose another label, or save with {replace}." },
  checkpoint_refused: { status: 409, hint: "Nothing was written; save again when the message is no longer true." },
  checkpoint_damaged: { status: 500, hint: "See the message; nothing was changed." },
  session_ended: { status: 410, hint: "The session's program has ended; its screen stays readable for a while." },
  payload_too_large: { status: 413, hint: "Send at most 1 MiB at a time." },
  resource_limit_reached: { status: 429, hint: "Remove some first; {limits} shows the limits." },
  rate_limited: { status: 429, hint: "Wait as long as Retry-After says." },
  input_send_failed: { status: 500, hint: "The program does not read its input; look at its screen." },
  session_create_failed: { status: 500, hint: "See the message; the session was not created." },
  internal_error: { status: 500, hint: "This is a defect; the server's log has the details." },
  history_unavailable: { status: 503, hint: "See the message; commands that run are kept in journals meanwhile." },
  max_sessions_reached: { status: 503, hint: "End a session, or raise max_sessions." },
  parser_unavailable: { status: 503, hint: "The session is going away; {sessions} shows which remain." },
  host_unavailable: { status: 503, hint: "The session process does not answer; {sessions} shows its state." },
  host_crashed: { status: 503, hint: "The session process died; its log is in the state directory." },
  host_version: { status: 503, hint: "The session was started by another version of wsh; end it with that version." },
  machine_unreachable: { status: 503, hint: "Nothing was sent. `wsh doctor NAME` checks the way there step by step." },
  machine_busy: { status: 503, hint: "The machine takes no more for now; ask another one." },
  server_unavailable: { status: 503, hint: "Start the server with `wsh server`." },
  runtime_dir_unusable: {
    status: 500,
    hint: "HOME, XDG_RUNTIME_DIR and XDG_STATE_HOME must name directories that you can write to.",
  },
  unsafe_path: { status: 500, hint: "It must be yours, closed to others (chmod 700, files 600) and no symbolic link." },
  socket_path_too_long: { status: 400, hint: "Use a shorter runtime directory (XDG_RUNTIME_DIR, --socket) or name." },
  lock_busy: { status: 503, hint: "Another wsh holds the instance's lock; try again." },
  outcome_unknown: {
    status: 504,
    hint: "It was sent and may have been done. {again}: nothing is done twice. Or look ({status}, {screen}).",
  },
  deadline_passed: { status: 504, hint: "Nothing was done. Ask again, with a later deadline." },
  parser_timeout: { status: 504, hint: "The terminal is busy; try again." },
  unknown_method: { status: 404, hint: "{methods}." },
  session_required: { status: 400, hint: "Name the session in the request's 'session' field." },
  idle_superseded: { status: 409, hint: "A newer await_idle on this connection replaced this one." },
  input_send_timeout: { status: 500, hint: "The program does not read its input; look at its screen." },
  cancelled: { status: 499, hint: "The caller ended the request." },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof kinds;

export const errorCodes = Object.keys(kinds) as readonly ErrorCode[];

/** HTTP status of a reply that carries the code. */
export function statusOf(code: ErrorCode): number {
  return kinds[code].status;
}

/** Whether a status says that the caller is not admitted, or may not do what it asked: it was answered. */
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
   * @param message what was wrong, with the offending value
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

  /** The hint in the words of a door. */
  hintAt(door: Door): string {
    return inWordsOf(door, this.ownHint);
  }

  /** The error for a caller at a door. */
  bodyAt(door: Door): ErrorBody {
    return { ...this.toBody(), hint: this.hintAt(door) };
  }

  /** The error for another process of wsh, which tells it in the words of its own door. */
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
    const known = typeof code === "string" && Object.hasOwn(kinds, code) ? (code as ErrorCode) : "internal_error";
    return new WshError(known, typeof message === "string" ? message : "unknown error", details);
  }

  /** Converts anything thrown into the error that a transport replies with. */
  static from(thrown: unknown): WshError {
    if (thrown instanceof WshError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new WshError("internal_error", message, {}, { cause: thrown });
  }
}
