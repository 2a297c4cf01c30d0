/**
 * Creates the session that a call with `create` names, unless it exists: with a shell, in the call's directory and with
 * its variables. All other reasons for a refusal are checked before.
 */
import { type CallContext, parseInput } from "../../operations/call.ts";
import { getOperation, inputSchema, type OperationName, type ParsedInput } from "../../operations/table.ts";
import { NO_PAGERS, stepsOf } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import { type ErrorCode, WshError } from "../../protocol/errors.ts";
import { stepFilters } from "../../protocol/output-filter.ts";
import { parse } from "../../protocol/parse.ts";
import { partOf } from "../../protocol/requests.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";

/** Longest wait for the first prompt of a new session, in ms: startup files may take long. */
const FIRST_PROMPT_MS = 10_000;

/** Errors of the call itself, after which nothing has run. */
const WRONG: ReadonlySet<ErrorCode> = new Set(["invalid_request", "unknown_key", "payload_too_large"]);

type Create = (input: ParsedInput<"sessions.create">, context: CallContext) => Promise<{ readonly id: string }>;

/** A session created for the call that uses it. */
interface CreatedForCall {
  /** The rest of the call's input. */
  readonly remainingInput: object;
  /** The id of the session that this call created; null: another call created it at the same time. */
  readonly id: string | null;
}

/** Sessions that several calls wanted to create at once. */
const shared = new WeakSet<SessionProxy>();

/** @returns null: the session exists, or none is requested */
export async function createMissing(
  proxies: SessionProxies,
  create: Create,
  context: CallContext & { readonly session: string },
  name: OperationName,
  input: unknown,
): Promise<CreatedForCall | null> {
  if ((name !== "exec" && name !== "run") || context.caller.only !== undefined || !wantsSession(input)) return null;
  const { session } = context;
  const { cwd, env, port } =
    name === "exec" ? await checkedExec(input) : (parseInput(getOperation("run"), input) as ParsedInput<"run">);
  try {
    await proxies.find(session);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof WshError) || thrown.code !== "session_not_found") throw thrown;
  }
  const place = {
    ...defined({ port }),
    cwd: cwd ?? null,
    env: name === "exec" ? { ...NO_PAGERS, ...env } : (env ?? null),
  };
  const { once, ...asked } = context;
  const own = once === undefined ? asked : { ...asked, once: partOf(once, "create") };
  const { cwd: _cwd, env: _env, port: _port, ...rest } = input;
  try {
    const { id } = await create(parse(inputSchema("sessions.create"), { name: session, ...place }), own);
    return { remainingInput: rest, id };
  } catch (thrown) {
    if (WshError.from(thrown).code !== "session_name_conflict") throw thrown;
    return { remainingInput: rest, id: null };
  }
}

function wantsSession(
  input: unknown,
): input is { readonly cwd?: unknown; readonly env?: unknown; readonly port?: unknown } {
  return typeof input === "object" && input !== null && "create" in input && input.create !== false;
}

async function checkedExec(input: unknown): Promise<ParsedInput<"exec">> {
  const exec = parseInput(getOperation("exec"), input) as ParsedInput<"exec">;
  await stepFilters(exec, stepsOf(exec));
  return exec;
}

/** Runs the call in the new session. If it is refused as invalid, the session that it created alone is removed. */
export async function inMade(
  proxy: SessionProxy,
  name: OperationName,
  created: CreatedForCall,
  request: RequestContext,
): Promise<object> {
  const isOwn = created.id === proxy.info.id;
  if (!isOwn) shared.add(proxy);
  const { access, caller } = request;
  try {
    // Text typed before the shell reads is echoed twice.
    const wait = { any_of: ["prompt", "waiting_for_input", "exited"], max_wait_ms: FIRST_PROMPT_MS };
    await proxy.request("wait", wait, {
      access,
      caller,
      ...defined({ signal: request.signal }),
    });
    return {
      ...((await proxy.request(name, created.remainingInput, request)) as object),
      ...(isOwn ? { created: true, ...defined({ free_port: proxy.info.port }) } : {}),
    };
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    if (WRONG.has(code) && isOwn && !shared.has(proxy))
      await proxy.request("session.kill", {}, { access, caller }).catch(() => {});
    throw thrown;
  }
}
