/**
 * Runs one request as a call of an operation: reads its input from path, query and body, and converts its result or
 * error to a response. It knows bindings and schemas, not the operations' effects.
 */
import type { Call, CallContext } from "../../operations/call.ts";
import type { HttpBinding, Operation } from "../../operations/define.ts";
import { queryInput } from "../../operations/query-string.ts";
import type { OperationName } from "../../operations/table.ts";
import { unknownFields, unknownFieldWarnings } from "../../operations/unknown-fields.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { visibleLines } from "../../protocol/harmless-text.ts";
import { parseJson } from "../../protocol/json.ts";
import { askedBy } from "../../protocol/requests.ts";
import { RateLimit } from "../auth/rate-limit.ts";
import { type AppContext, actingFor, requestOwner } from "./context.ts";

/**
 * Maximum log lines per second about internal errors, and maximum characters of a line: otherwise a client could
 * fill the disk by causing them.
 */
const REPORTS_PER_SECOND = 1;
const REPORT_LENGTH = 2_000;
const reports = new RateLimit(REPORTS_PER_SECOND);

/** A result that arrived as JSON. */
class ResultJson {
  constructor(readonly text: string) {}
}

/** @throws WshError of the input, of the operation */
export async function callFromHttp(
  call: Call,
  operation: Operation<OperationName>,
  binding: HttpBinding,
  c: AppContext,
): Promise<unknown> {
  const { name: target, ...params } = c.req.param() as Record<string, string>;
  const { machine, inputs, input: requestInput } = withoutServer(operation, await inputOf(operation, binding, c));
  const input = { ...requestInput, ...queryInput(operation.input, params), ...binding.fixed };
  const warnings = unknownFieldWarnings(unknownFields(operation.input, inputs));
  warn(c, warnings);
  if (binding.method !== "GET") await notGone(c);
  let json: string | null = null;
  const context: CallContext & { session?: string } = {
    json: (text) => {
      json = text;
    },
    signal: c.req.raw.signal,
    ...actingFor(c, { kind: "http", id: `http:${c.get("verdict").tokenId}`, connected: false }),
    ...defined({ machine }),
    ...(operation.scope !== "server" && target !== undefined ? { session: target } : {}),
    ...askedBy((name) => c.req.header(name), requestOwner(c, "http"), {
      operation: operation.name,
      target: `${machine ?? ""}/${target ?? ""}`,
      input,
    }),
  };
  try {
    const result = await call(operation.name, input as never, context);
    return json === null ? result : new ResultJson(json);
  } catch (thrown) {
    const error = WshError.from(thrown);
    const isJson = (binding.from ?? defaultSource(binding)) === "json";
    if (isJson && error.details.schema === true)
      throw new WshError(error.code, error.message, error.details, { status: 422 });
    throw error;
  }
}

/**
 * Refuses a request whose connection has ended. Bun closes a connection if another request or the client's FIN
 * arrives before the answer, but passes the request on first; the end of the connection shows one turn of the
 * event loop later. A request that cannot be answered is not executed.
 * @throws WshError cancelled
 */
async function notGone(c: AppContext): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (c.req.raw.signal.aborted) throw new WshError("cancelled", "the connection closed before the request began");
}

function defaultSource(binding: HttpBinding): "query" | "json" {
  return binding.method === "GET" || binding.method === "DELETE" ? "query" : "json";
}

interface Input {
  /** The caller's named inputs. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** The inputs that the operation accepts. */
  readonly input: Readonly<Record<string, unknown>>;
}

/** Every operation takes `server`, the machine that has the target; some have it as a separate input. */
function withoutServer(
  operation: Operation<OperationName>,
  { inputs: given, input }: Input,
): Input & { machine?: string } {
  const { server, ...rest } = given;
  const isOwn = "entries" in operation.input && "server" in Object(operation.input.entries);
  if (isOwn || typeof server !== "string") return { inputs: given, input };
  const { server: _, ...inputs } = input;
  return { machine: server, inputs: rest, input: inputs };
}

async function inputOf(operation: Operation<OperationName>, binding: HttpBinding, c: AppContext): Promise<Input> {
  const query = c.req.query();
  switch (binding.from ?? defaultSource(binding)) {
    case "nothing":
      return { inputs: query, input: {} };
    case "query":
      return { inputs: query, input: queryInput(operation.input, query) };
    case "raw": {
      const bytes = new Uint8Array(await c.req.arrayBuffer());
      const body = { data: bytes.toBase64(), encoding: "base64" };
      return { inputs: query, input: { ...queryInput(operation.input, query), ...body } };
    }
    case "json": {
      const body = await jsonBody(c);
      return { inputs: { ...query, ...body }, input: { ...queryInput(operation.input, query), ...body } };
    }
  }
}

/** @throws WshError invalid_request with status 415 (not JSON by type), 400 (does not parse), 422 (not an object) */
async function jsonBody(c: AppContext): Promise<Record<string, unknown>> {
  const text = await c.req.text();
  const type = c.req.header("content-type");
  if (text === "" && type === undefined) return {};
  if (type === undefined || !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new WshError(
      "invalid_request",
      `the content type '${type ?? ""}' is not JSON`,
      {
        hint: "Send JSON with 'Content-Type: application/json'.",
      },
      { status: 415 },
    );
  }
  let body: unknown;
  try {
    body = text === "" ? {} : parseJson(text);
  } catch (error) {
    throw new WshError("invalid_request", `the body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new WshError("invalid_request", "the body must be a JSON object", {}, { status: 422 });
  }
  return body as Record<string, unknown>;
}

/** The `output_cursor` of a result, for replies without a body. */
export const CURSOR_HEADER = "Wsh-Output-Cursor";
/** The resolved pane, if the target did not name one and the session has several. */
export const PANE_HEADER = "Wsh-Pane";
/** Unknown fields of the request, and warnings of an answer without a body. */
export const WARNING_HEADER = "Wsh-Warning";

/** Characters that are invalid in a header are escaped. */
function warn(c: AppContext, warnings: readonly string[]): void {
  const text = warnings.join("; ").replace(/[^ -~]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
  if (text !== "") c.header(WARNING_HEADER, text, { append: true });
}

export function reply(c: AppContext, binding: HttpBinding, result: unknown): Response {
  const { output_cursor: cursor, pane, warnings }: Readonly<Record<string, unknown>> = Object(result);
  if (typeof cursor === "number") c.header(CURSOR_HEADER, String(cursor));
  if (binding.status === 204) {
    if (typeof pane === "string") c.header(PANE_HEADER, pane);
    if (Array.isArray(warnings)) warn(c, warnings.map(String));
    return c.body(null, 204);
  }
  if (result instanceof ResultJson) {
    return c.body(result.text, binding.status ?? 200, { "Content-Type": "application/json" });
  }
  return c.json(result as object, binding.status ?? 200);
}

/**
 * The standard error object; a timed-out wait adds its findings (docs/protocol.md, Conventions).
 * @param isPassedOn whether another wsh process shows it, with its own hints
 */
export function errorResponse(thrown: unknown, path: string, isPassedOn = false): Response {
  const error = WshError.from(thrown);
  if (error.code === "internal_error" && reports.admit("all") === null) {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : Bun.inspect(thrown);
    console.error(visibleLines(`internal error on ${path}: ${text}`.slice(0, REPORT_LENGTH)).replaceAll("\n", " | "));
  }
  const { code, message, hint, ...details } = isPassedOn ? error.toBody() : error.bodyAt("http");
  const { schema, ...shown } = details;
  const body =
    error.status === 408 ? { error: { code, message, hint }, ...shown } : { error: { code, message, hint, ...shown } };
  const headers: Record<string, string> = {};
  if (error.status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (typeof details.retry_after_s === "number") headers["Retry-After"] = String(details.retry_after_s);
  return Response.json(body, { status: error.status, headers });
}
