/**
 * Requests to an attached terminal besides keys and sizes: from its client, or from a session that shows it as a view.
 */
import * as v from "valibot";
import { FocusSchema, TerminalColorsSchema, WrittenSchema } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Peer, PeerRequest } from "../../wire/peer.ts";
import type { TerminalStream } from "./attached-terminal.ts";

/** @throws WshError, and errors of the input's schema */
export async function askTerminal(stream: TerminalStream, request: PeerRequest, peer: Peer): Promise<object> {
  const { op, input } = request;
  switch (op) {
    case "peer.help":
      stream.showHelp(input);
      break;
    case "peer.look":
      await stream.ownView.look(input);
      break;
    case "peer.written": {
      // The client has written everything it received.
      const { bytes, pictures = 0 } = v.parse(WrittenSchema, input);
      stream.presentation.clientWrote({ bytes, pictures });
      break;
    }
    case "peer.focus":
      // The page gained or lost the focus: programs that requested it are notified.
      stream.typing.focusReported(v.parse(FocusSchema, input).on);
      break;
    case "peer.watched":
      stream.typing.watched(v.parse(FocusSchema, input).on);
      break;
    case "peer.by_agent":
      stream.typing.isAgents = v.parse(FocusSchema, input).on;
      break;
    case "peer.keys":
      stream.takeKeys();
      peer.rest();
      break;
    case "peer.command":
      stream.bound(input);
      break;
    case "peer.settings":
      stream.use(input);
      break;
    case "peer.release":
      stream.release();
      break;
    case "peer.give_back":
      stream.handBack();
      break;
    case "peer.colors": {
      const answers = v.parse(TerminalColorsSchema, input);
      // Programs get the colours of the newest terminal at which a person can type.
      if (!stream.readOnly) stream.shownContent.learnColors(answers);
      stream.clipboardImage.isOffered = answers.images === true;
      if (answers.graphics === true || answers.sixel === true) stream.presentation.showPictures(answers.sixel);
      break;
    }
    default:
      throw new WshError("invalid_request", `a terminal cannot handle '${op}'`);
  }
  return {};
}
