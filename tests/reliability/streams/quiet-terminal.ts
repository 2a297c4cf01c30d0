/**
 * The terminal model alone: bytes in, screen and answers out. Ids of lines, marks and clients do not
 * matter here.
 */
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";

export interface QuietTerminal extends Disposable {
  readonly model: TerminalModel;
  /** All answers of the terminal so far. */
  readonly replies: string;
  write(bytes: Uint8Array | string): Promise<void>;
  /** The screen's rows as text, trailing blanks cut. */
  lines(): string[];
}

export interface QuietOptions {
  readonly rows?: number;
  readonly cols?: number;
  readonly onReply?: (bytes: Uint8Array) => void;
}

export function quietTerminal({ rows = 24, cols = 80, onReply = () => {} }: QuietOptions = {}): QuietTerminal {
  let replies = "";
  const nothing = (): void => {};
  const sink: TerminalSink = {
    reply: (bytes) => {
      replies += Buffer.from(bytes).toString();
      onReply(bytes);
    },
    chunk: nothing,
    mark: nothing,
    bell: nothing,
    title: nothing,
    cwd: nothing,
    alternate: nothing,
    clipboard: nothing,
    reset: nothing,
  };
  const limits = { historyLines: 1_000, historyBytes: 1e6 };
  const model = new TerminalModel({ rows, cols, ...limits, nonce: null, profile: defaultProfile }, sink);
  return {
    model,
    get replies() {
      return replies;
    },
    write: (bytes) => model.write(typeof bytes === "string" ? Buffer.from(bytes) : new Uint8Array(bytes)),
    lines: () => model.screen("plain").lines.map((line) => (typeof line === "string" ? line : "")),
    [Symbol.dispose]: () => model.dispose(),
  };
}
