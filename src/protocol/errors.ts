/**
 * The table of error codes. A code determines the HTTP status and the default hint. The domain throws these errors;
 * each transport turns them into a reply.
 */

import { type Interface, inWordsOf } from "./interface-words.ts";

/**
 * Codes by HTTP status, with the remedy for the caller in one sentence; names in braces differ by transport
 * (`interface-words.ts`).
 */
const hints = {
  400: {
    invalid_request: "Correct the request; {fields}.",
    invalid_format: "Use one of the field's formats; {fields}.",
    invalid_overlay: "Stay within 4096 spans or writes of 65536 bytes each.",
    invalid_layout: "Nothing was changed. {layout} the present layout.",
    invalid_tag: "A tag is 1 to 64 of the characters A-Z a-z 0-9 . _ -, and not . or ..",
    invalid_session_name:
      "A name is 1 to 64 visible characters and blanks between them, without : / ~, does not begin with @ or =, and is not . or ..",
    invalid_label: "A label is 1 to 64 of the characters A-Z a-z 0-9 . _ -, does not begin with -, and is not . or ..",
    invalid_instance_name: "An instance name is 1 to 32 of the characters A-Z a-z 0-9 _ -",
    invalid_machine_name: "A machine's name is 1 to 64 of the characters A-Z a-z 0-9 _ -",
    invalid_address: "An address is ssh://[user@]host[:port] or https://host[:port].",
    invalid_credentials: "Create a new invitation with `wsh fleet invite` and join with it.",
    invalid_cursor:
      "A cursor belongs to the pane that returned it: name that pane by its id, or pass a cursor of this pane.",
    invalid_setting: "`wsh config` prints every setting with its value and origin.",
    not_focusable: "Create the element with focusable: true.",
    unknown_shell: "Use a path, or one of bash, zsh, fish, sh, pwsh.",
    shell_not_found: "Give the path of an executable that exists.",
    cwd_not_found: "Give a directory that exists.",
    unknown_key: "Nothing was sent. Use a key name such as Enter, Ctrl+C, Alt+x, Up, F5.",
    regex_too_slow: "Use a simpler pattern, or a text condition.",
    socket_path_too_long: "Use a shorter runtime directory (XDG_RUNTIME_DIR, --socket) or name.",
    session_required: "Name the session in the request's 'session' field.",
  },
  401: {
    auth_required: "Send 'Authorization: Bearer TOKEN'; `wsh token` prints the token.",
  },
  403: {
    auth_invalid: "The server does not know this token; `wsh token` prints the current one.",
    access_denied: "Use a token whose scope covers this operation.",
    origin_not_allowed: "Start the server with --cors-origin to allow this origin.",
    host_not_allowed: "Address the server by one of its own names, such as 127.0.0.1 or localhost.",
  },
  404: {
    session_not_found: "{sessions} shows which exist.",
    pane_not_found: "{panes} which exist.",
    overlay_not_found: "{overlays} which exist.",
    panel_not_found: "{panels} which exist.",
    command_not_found: "{commands}.",
    question_not_found: "A session keeps an ask_id for its next 64 questions; {asks} the open ones.",
    checkpoint_not_found: "{checkpoints} which exist.",
    client_not_found: "`wsh clients` shows which are attached.",
    buffer_not_found: "{buffers} which exist.",
    server_not_found: "Omit 'server', or name this server's own hostname.",
    machine_not_found: "{machines} lists the known machines.",
    no_sessions: "Create a session first, or use another tag.",
    unknown_method: "{methods}.",
  },
  408: {
    idle_timeout: "The command still runs. Do not send it again; wait once more with {wait}.",
  },
  409: {
    session_name_conflict: "Choose another name, or create with {if_exists}.",
    already_in_alt_screen: "The session is in alt screen mode already.",
    not_in_alt_screen: "The session is not in alt screen mode.",
    not_at_prompt: "Wait for the prompt, or type into the program with {run} or {input}.",
    prompt_not_empty: "Wait until the person has finished typing, or discard the line with {clear_line}.",
    expect_not_met:
      "Check output, prompt and state, and continue from that step. The steps before it were typed; do not send them again.",
    not_echoed: "Nothing was run. Check the screen: the program may hide its input, or may not be a shell.",
    no_shell_integration: "Use {run}, which infers the command's end from the terminal.",
    no_password_prompt:
      "A secret is typed only into a program that is reading one: wait for the condition password with {wait}, then ask.",
    no_agent:
      "Nothing was typed. A prompt goes to an AI agent that holds the terminal itself, not behind ssh, sudo or a container; {screen} shows what does.",
    agent_asks: "Nothing was typed. Answer its question first, or have a person answer it; {screen} shows it.",
    composer_not_empty: "Nothing was typed. Wait until its author has sent it; {screen} shows it.",
    composer_not_found: "Nothing was typed. It may show a menu or a dialog, or still start; {screen} shows it.",
    input_captured: "Another caller has captured the keyboard; wait until it is released.",
    no_viewer: "Attach a terminal that shows the window, or start the program in a pane.",
    request_conflict: "Nothing was done. Use a different id for each request.",
    machine_conflict: "{machines} shows which machine has the name.",
    server_already_running: "Use the running server, or another instance name (-L).",
    nested_session: "Detach first, or start with --nested.",
    size_held: "Detach them first, or resize with {force}; the forced size lasts until one of them types.",
    session_running: "The session is still running. Attach to it, or kill it first.",
    checkpoint_too_new: "Restore it with the version of wsh that wrote it, or a later one.",
    checkpoint_exists: "Choose another label, or save with {replace}.",
    checkpoint_refused: "Nothing was written. Resolve the cause, then save again.",
    idle_superseded: "A later await_idle on this connection replaced this one.",
  },
  410: {
    session_not_running: "Its screen, scrollback and commands can still be read; {restore} restores it.",
    session_ended: "The session's program has exited; its screen stays readable for a while.",
  },
  413: {
    payload_too_large: "Send at most 1 MiB at a time.",
  },
  421: {
    moved: "Another process serves it, at details.socket; wsh's own clients follow automatically.",
  },
  429: {
    resource_limit_reached: "Remove some first; {limits} shows the limits.",
    rate_limited: "Wait for the time given in Retry-After.",
  },
  499: {
    cancelled: "The caller ended the request.",
  },
  500: {
    checkpoint_damaged: "See the message; nothing was changed.",
    input_send_failed: "The program is not reading its input; check its screen.",
    session_create_failed: "See the message; the session was not created.",
    internal_error: "This is a bug in wsh; the server's log has the details.",
    runtime_dir_unusable: "HOME, XDG_RUNTIME_DIR and XDG_STATE_HOME must name writable directories.",
    unsafe_path: "It must belong to you, be inaccessible to others (chmod 700, files 600), and not be a symbolic link.",
  },
  503: {
    history_unavailable: "See the message. Until then, commands are recorded in journals.",
    max_sessions_reached: "Kill a session, or raise max_sessions.",
    session_unavailable: "The session process does not answer; {sessions} shows its state.",
    session_crashed: "The session process died; its log is in the state directory.",
    version_mismatch: "It runs another version of wsh: end a session with that version, update wsh on a machine.",
    machine_unreachable: "Nothing was sent. `wsh doctor NAME` checks the connection step by step.",
    machine_busy: "The machine accepts no more requests for now; use another one.",
    server_unavailable: "Start the server with `wsh server`.",
    lock_busy: "Another wsh holds the instance's lock; try again.",
  },
  504: {
    outcome_unknown:
      "The request was sent and may have been carried out. {again}: it is not carried out twice. Or check {status} and {screen}.",
    deadline_passed: "Nothing was done. Try again with a later deadline.",
  },
} as const;

type Hints = typeof hints;
export type ErrorCode = { [S in keyof Hints]: keyof Hints[S] }[keyof Hints];

const kinds = Object.fromEntries(
  Object.entries(hints).flatMap(([status, codes]) =>
    Object.entries(codes).map(([code, hint]) => [code, { status: Number(status), hint }]),
  ),
) as Readonly<Record<ErrorCode, { readonly status: number; readonly hint: string }>>;

/** Codes of 0.1.0's servers, and their current names. */
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
type ErrorDetails = Readonly<Record<string, unknown>>;

/**
 * The JSON of an error in every transport: `{"error": ErrorBody}` over HTTP and WebSocket, the bare object in MCP
 * results.
 */
interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
  readonly [detail: string]: unknown;
}

/** Errors of a process, or of a system, that has all its files and connections open. */
const fileLimitErrors: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE"]);
const FILE_LIMIT_HINT =
  "Close connections or end sessions, or start wsh with a higher limit of open files (ulimit -n).";

export class WshError extends Error {
  override readonly name = "WshError";

  /**
   * @param code a code of the table above
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

  /** HTTP status; a transport with a more exact one for the same code (415 and 422 for invalid_request) sets it. */
  get status(): number {
    return this.options.status ?? kinds[this.code].status;
  }

  /** The hint in the form for programs that use wsh/client. */
  get hint(): string {
    return this.hintAt("http");
  }

  /** The hint with one transport's names. */
  hintAt(transport: Interface): string {
    return inWordsOf(transport, this.ownHint);
  }

  /** The error for a caller of one transport. */
  bodyAt(transport: Interface): ErrorBody {
    return { ...this.toBody(), hint: this.hintAt(transport) };
  }

  /** The error for another process of wsh, which inserts the names of its own transport. */
  toBody(): ErrorBody {
    return { ...this.details, code: this.code, message: this.message, hint: this.ownHint };
  }

  private get ownHint(): string {
    const own = this.details.hint;
    return typeof own === "string" ? own : kinds[this.code].hint;
  }

  /** The error that a peer sent as JSON; an unknown code becomes internal_error with the same message. */
  static fromBody(body: { code?: unknown; message?: unknown }): WshError {
    const { code, message, ...details } = body;
    const named = typeof code === "string" ? (formerCodes.get(code) ?? code) : "";
    const knownCode = Object.hasOwn(kinds, named) ? (named as ErrorCode) : "internal_error";
    return new WshError(knownCode, typeof message === "string" ? message : "unknown error", details);
  }

  /** Converts anything thrown into the error that a transport replies with. */
  static from(thrown: unknown): WshError {
    if (thrown instanceof WshError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    const isAtLimit = thrown instanceof Error && "code" in thrown && fileLimitErrors.has(thrown.code);
    return isAtLimit
      ? new WshError("resource_limit_reached", message, { hint: FILE_LIMIT_HINT }, { cause: thrown })
      : new WshError("internal_error", message, {}, { cause: thrown });
  }
}
