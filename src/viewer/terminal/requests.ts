/**
 * Requests to an attached terminal besides keys and sizes: from its client, or from a session that shows it as a view.
 */
import * as v from "valibot";
import { FocusSchema, TerminalColorsSchema, WrittenSchema } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Peer, PeerRequest } from "../../wire/peer.ts";
import type { AttachedTerminal } from "./attached-terminal.ts";

/** @throws WshError, and errors of the input's schema */
export async function handleTerminalRequest(
  terminal: AttachedTerminal,
  request: PeerRequest,
  peer: Peer,
): Promise<object> {
  const { op, input } = request;
  switch (op) {
    case "peer.help":
      terminal.showHelp(input);
      break;
    case "peer.look":
      await terminal.controls.openCopyMode(input);
      break;
    case "peer.written": {
      // The client has written everything it received.
      const { bytes, pictures = 0 } = v.parse(WrittenSchema, input);
      terminal.presentation.clientWrote({ bytes, pictures });
      break;
    }
    case "peer.focus":
      // The page gained or lost the focus: programs that requested it are notified.
      terminal.router.reportFocus(v.parse(FocusSchema, input).on);
      break;
    case "peer.watched":
      terminal.router.setWatched(v.parse(FocusSchema, input).on);
      break;
    case "peer.by_agent":
      terminal.router.isTypedByAgent = v.parse(FocusSchema, input).on;
      break;
    case "peer.keys":
      terminal.startReadingKeys();
      peer.rest();
      break;
    case "peer.command":
      terminal.pressBoundKey(input);
      break;
    case "peer.settings":
      terminal.useSettings(input);
      break;
    case "peer.release":
      terminal.release();
      break;
    case "peer.give_back":
      terminal.handBack();
      break;
    case "peer.colors": {
      const answers = v.parse(TerminalColorsSchema, input);
      // Programs get the colours of the newest terminal at which a person can type.
      if (!terminal.readOnly) terminal.shownContent.learnColors(answers);
      terminal.clipboardImage.isSupported = answers.images === true;
      if (answers.graphics === true || answers.sixel === true) terminal.presentation.showPictures(answers.sixel);
      break;
    }
    default:
      throw new WshError("invalid_request", `a terminal cannot handle '${op}'`);
  }
  return {};
}
