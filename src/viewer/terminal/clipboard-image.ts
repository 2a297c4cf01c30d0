/**
 * The image in the clipboard of a person's terminal, requested by a key and pasted as a file's path: kitty's
 * clipboard protocol, OSC 5522 (https://sw.kovidgoyal.net/kitty/clipboard/), of terminals that know its mode. The
 * mode itself is not set, so that the terminal still pastes text itself.
 *
 * Invariant: a reply is used only while the person's request is pending, and no more than one image fits.
 */
import { isClipboardPacket } from "../../keys/reader.ts";
import { WshError } from "../../protocol/errors.ts";
import { MAX_IMAGE_DATA } from "../../protocol/paste.ts";
import type { ControlsPort } from "./controls-port.ts";

/** Longest wait for the first packet, in ms: the terminal may ask the person for permission. */
const PERMISSION_MS = 30_000;
/** Longest wait for the next one, in ms. */
const PACKET_MS = 5_000;
/** Largest image, in bytes. */
const MAX_BYTES = (MAX_IMAGE_DATA / 4) * 3;

const PNG_TYPE = Buffer.from("image/png").toString("base64");
const REQUEST = `\x1b]5522;type=read;${PNG_TYPE}\x1b\\`;
const packetPattern = /^\x1b\]5522;([^;\x07\x1b]*)(?:;([A-Za-z0-9+/=]*))?(?:\x07|\x1b\\)$/;

interface ClipboardImagePort {
  /** Writes to the terminal. */
  write(text: string): void;
  say(text: string): void;
  operate: ControlsPort["operate"];
}

export class ClipboardImage implements Disposable {
  /** Whether the terminal has the protocol. */
  isSupported = false;
  /** Received parts; null while nothing was requested. */
  private parts: Buffer[] | null = null;
  private timer: Timer | null = null;

  constructor(private readonly port: ClipboardImagePort) {}

  request(): void {
    if (!this.isSupported) {
      this.port.say("this terminal does not provide images; paste them in the web page");
      return;
    }
    this.parts = [];
    this.awaitPacket(PERMISSION_MS);
    this.port.write(REQUEST);
  }

  /** Runs for each input. @returns whether the bytes are a packet of this protocol, which no program gets */
  takePacket(bytes: Uint8Array): boolean {
    if (!isClipboardPacket(bytes)) return false;
    const [whole, fields = "", data = ""] = packetPattern.exec(Buffer.from(bytes).toString("latin1")) ?? [];
    if (whole === undefined) return false;
    if (this.parts !== null)
      this.handlePacket(new Map(fields.split(":").map((field) => splitField(field))), data, this.parts);
    return true;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.parts = null;
  }

  private handlePacket(fields: ReadonlyMap<string, string>, data: string, parts: Buffer[]): void {
    const status = fields.get("status");
    if (status === "DONE") {
      const image = Buffer.concat(parts);
      this.finish(image.length === 0 ? "there is no PNG image in the terminal's clipboard" : null);
      if (image.length > 0) void this.paste(image);
    } else if (status === "DATA" && fields.get("mime") === PNG_TYPE) {
      // Each part is encoded separately.
      parts.push(Buffer.from(data, "base64"));
      const bytes = parts.reduce((sum, { length }) => sum + length, 0);
      if (bytes > MAX_BYTES) this.finish(`the image has more than ${Math.floor(MAX_BYTES / 1000)} KB`);
      else this.awaitPacket(PACKET_MS);
    } else if (status === "OK" || status === "DATA") this.awaitPacket(PACKET_MS);
    else this.finish(`the terminal refused its clipboard (${status === "EPERM" ? "not permitted" : status})`);
  }

  private async paste(image: Buffer): Promise<void> {
    const input = { data: image.toString("base64"), format: "png" };
    const binding = { operation: "image.paste", input, description: "paste an image" };
    await this.port
      .operate(binding, new AbortController().signal)
      .catch((thrown: unknown) => this.port.say(WshError.from(thrown).message));
  }

  private awaitPacket(ms: number): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => this.finish("the terminal did not send the image"), ms);
  }

  private finish(message: string | null): void {
    this[Symbol.dispose]();
    if (message !== null) this.port.say(message);
  }
}

function splitField(field: string): [string, string] {
  const at = field.indexOf("=");
  return at === -1 ? [field, ""] : [field.slice(0, at), field.slice(at + 1)];
}
