/** Converts the SDK's responses to a form that the client accepts. Streams are read to their end or cancelled. */
import { present } from "../../protocol/defined.ts";

export function jsonRpcError(
  status: number,
  code: number,
  message: string,
  id: string | number | null = null,
): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id }, { status });
}

/**
 * Makes one JSON body from an event stream: the answers to the requests of `body`, in the order of the requests.
 * Notifications are dropped: the body has no place for them.
 * @param signal aborts when the client has left: one without stream support cannot fetch its answers later
 */
export async function collectJson(response: Response, body: unknown, signal: AbortSignal): Promise<Response> {
  const messages = Array.isArray(body) ? body : [body];
  const awaitedIds = messages.flatMap((message) => (isAnswered(message) ? [message.id] : []));
  const answers = new Map<unknown, unknown>();
  if (response.body !== null) {
    for await (const data of events(response.body, signal)) {
      const message: unknown = JSON.parse(data);
      const isAnswer = hasId(message) && ("result" in message || "error" in message);
      if (isAnswer && awaitedIds.includes(message.id)) answers.set(message.id, message);
      if (answers.size >= awaitedIds.length) break;
    }
  }
  const responses = awaitedIds.flatMap((id) => (answers.has(id) ? [answers.get(id)] : []));
  const session = response.headers.get("mcp-session-id");
  const headers: Record<string, string> = present({ "mcp-session-id": session });
  const [first] = responses;
  if (first === undefined) return jsonRpcError(500, -32603, "Internal error: the call ended without an answer");
  return Response.json(Array.isArray(body) ? responses : first, { status: response.status, headers });
}

function hasId(message: unknown): message is { id: unknown } {
  return typeof message === "object" && message !== null && "id" in message;
}

function isAnswered(message: unknown): message is { id: unknown } {
  return hasId(message) && "method" in message;
}

/** The data of each event that has data. Leaving the loop cancels the stream. */
async function* events(stream: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  const passed = new TransformStream<Uint8Array, Uint8Array>();
  stream.pipeTo(passed.writable, { signal }).catch(() => {}); // this read ends with it
  for await (const chunk of passed.readable) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const data = part
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice("data:".length).trim())
        .join("\n");
      if (data !== "") yield data;
    }
  }
}

/** Headers are sent with the first bytes: without these a client would see the connection only with the first event. */
const FIRST_BYTES = new TextEncoder().encode(": connected\n\n");

/**
 * Calls back once when the body was read to its end, failed, or was cancelled by a client that left.
 * @param onPiece gets each piece when it is sent to the client, which may be long after it was written
 */
export function onEnd(response: Response, onEnded: () => void, onPiece?: (piece: Uint8Array) => void): Response {
  const { body, status, headers } = response;
  if (body === null) {
    onEnded();
    return response;
  }
  let hasEnded = false;
  // Cancelling the body also ends the read that waits for its next piece.
  const end = (): void => {
    if (!hasEnded) onEnded();
    hasEnded = true;
  };
  const reader = body.getReader();
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      if (isStream) controller.enqueue(FIRST_BYTES);
    },
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          onPiece?.(value);
          return controller.enqueue(value);
        }
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      end();
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
  return new Response(stream, { status, headers });
}
