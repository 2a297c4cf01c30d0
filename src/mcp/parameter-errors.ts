/**
 * The SDK answers a request with malformed parameters with "Internal error" and its validator's issues as JSON text.
 * The mistake is the caller's: -32602, naming the parameter (JSON-RPC 2.0 §5.1).
 */
import { type JSONRPCMessage, ProtocolErrorCode, type Transport } from "@modelcontextprotocol/server";
import * as v from "valibot";

const IssuesSchema = v.pipe(
  v.array(v.object({ path: v.array(v.union([v.string(), v.number()])), message: v.string() })),
  v.minLength(1),
);

/** The message in the form to send. */
function withClearError(message: JSONRPCMessage): JSONRPCMessage {
  if (!("error" in message) || message.error.code !== ProtocolErrorCode.InternalError) return message;
  const issues = issuesIn(message.error.message);
  if (issues === null) return message;
  const problems = issues.map(({ path, message: why }) => `'${path.join(".")}': ${why}`);
  const error = { code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${problems.join("; ")}` };
  return { ...message, error };
}

/** A transport whose errors are clear. */
export function speakClearly(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(withClearError(message), options);
  return transport;
}

function issuesIn(text: string): v.InferOutput<typeof IssuesSchema> | null {
  if (!text.startsWith("[")) return null;
  try {
    const parsed = v.safeParse(IssuesSchema, JSON.parse(text));
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}
