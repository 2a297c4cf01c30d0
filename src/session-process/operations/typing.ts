/** Types into a pane for a caller: a text, keys, and Enter after them. */
import { decodeInput, type InputRequest } from "../../keys/input-parser.ts";
import type { Pane } from "../../pane/pane.ts";
import type { TypedInput } from "../../pane/submits.ts";

/** @throws WshError invalid_request (base64), payload_too_large, unknown_key */
export function decodeFor(pane: Pane, request: InputRequest): TypedInput {
  return decodeInput(request, { ...pane.terminal.modes, takesLines: !pane.commands.isAtPrompt });
}

/** @throws WshError session_ended, input_send_failed, payload_too_large */
export function typeInto(pane: Pane, input: TypedInput): Promise<void> {
  return pane.commands.submits.type(input, (bytes) => pane.send(bytes));
}
