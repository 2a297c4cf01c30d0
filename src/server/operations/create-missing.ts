/**
 * The session that a call with `create` names: made with a shell, in the call's directory and with its variables, unless
 * there is one. Everything else that could be refused is checked before.
 */
import type { CallContext } from "../../operations/call.ts";
import { inputSchema, type OperationName, type ParsedInput } from "../../operations/table.ts";
import { stepsOf } from "../../protocol/commands.ts";
import { type ErrorCode, WshError } from "../../protocol/errors.ts";
import { stepFilters } from "../../protocol/output-filter.ts";
import { parse } from "../../protocol/parse.ts";
import { partOf } from "../../protocol/requests.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";

/** Longest wait for the first prompt of a session that was just made, in ms: startup files may do a lot. */
const FIRST_PROMPT_MS = 10_000;

/** The call itself is wrong, and nothing has run. */
const WRONG: ReadonlySet<ErrorCode> = new Set(["invalid_request", "unknown_key", "payload_too_large"]);

type Create = (input: ParsedInput<"sessions.create">, context: CallContext) => Promise<unknown>;

/** @returns what is left of the input for a session that was made; null when there was one, or none is wanted */
export async function createMissing(
  hosts: Hosts,
  create: Create,
  context: CallContext & { readonly session: string },
  name: OperationName,
  input: unknown,
): Promise<object | null> {
  if ((name !== "exec" && name !== "run") || context.caller.only !== undefined || !wantsSession(input)) return null;
  const { session } = context;
  const { cwd, env } = name === "exec" ? await checkedExec(input) : parse(inputSchema("run"), input);
  try {
    await hosts.find(session);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof WshError) || thrown.code !== "session_not_found") throw thrown;
  }
  const place = { cwd: cwd ?? null, env: env ?? null };
  const { once, ...asked } = context;
  const own = once === undefined ? asked : { ...asked, once: partOf(once, "create") };
  await create(parse(inputSchema("sessions.create"), { name: session, if_exists: "attach", ...place }), own);
  const { cwd: _cwd, env: _env, ...rest } = input;
  return rest;
}

function wantsSession(input: unknown): input is { readonly cwd?: unknown; readonly env?: unknown } {
  return typeof input === "object" && input !== null && "create" in input && input.create !== false;
}

async function checkedExec(input: unknown): Promise<ParsedInput<"exec">> {
  const exec = parse(inputSchema("exec"), input);
  await stepFilters(exec, stepsOf(exec));
  return exec;
}

/** Carries the call out in the session that was made for it; one that it refuses as wrong leaves no session. */
export async function inMade(host: Host, name: OperationName, input: object, from: RequestContext): Promise<object> {
  try {
    // What is typed before the shell reads is echoed twice.
    const wait = { any_of: ["prompt", "waiting_for_input", "exited"], max_wait_ms: FIRST_PROMPT_MS };
    const { once: _, deadline: __, ...caller } = from;
    await host.request("wait", wait, caller);
    return { ...((await host.request(name, input, from)) as object), created: true };
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    if (WRONG.has(code)) await host.request("session.kill", {}, from).catch(() => {});
    throw thrown;
  }
}
