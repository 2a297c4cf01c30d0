/** A terminal of a page, like its script: keeps the picture, confirms it, numbers its input. */
import type { Frame } from "../../src/protocol/frame.ts";
import { applyFrame } from "../../src/protocol/frame-codec.ts";
import { encodeInput } from "../../src/protocol/numbered-input.ts";
import type { ViewRequest } from "../../src/protocol/view.ts";
import type { Message, TestSocket } from "./websocket.ts";

type Open = Partial<Extract<ViewRequest, { type: "open" }>>;

export class TestView {
  frame: Frame | null = null;
  pictures = 0;
  /** Whether pictures are confirmed. */
  confirms = true;
  private read = 0;
  private number = 0;

  constructor(
    readonly socket: TestSocket,
    readonly client: string,
    /** Number of the newest piece of input that this client sent before. */
    typed = 0,
  ) {
    this.number = typed;
  }

  static async open(socket: TestSocket, open: Open = {}, typed = 0): Promise<TestView> {
    const client = open.client ?? `client-${crypto.randomUUID()}`;
    const view = new TestView(socket, client, typed);
    socket.send({ type: "open", rows: 24, cols: 80, size: "fit", ...open, client });
    await socket.next("the view to open", ({ type }) => type === "opened");
    return view;
  }

  get opened(): Message {
    return this.socket.messages.find(({ type }) => type === "opened");
  }

  /** Reads the received messages. */
  update(): void {
    for (; this.read < this.socket.messages.length; this.read++) {
      const { type, n, ...update } = this.socket.messages[this.read];
      if (type !== "frame") continue;
      this.frame = applyFrame(this.frame, update).view;
      this.pictures = n;
      if (this.confirms) this.socket.send({ type: "shown", n });
    }
  }

  /** Text of the picture, without trailing blanks. */
  get text(): string {
    const lines = this.frame?.lines ?? [];
    return lines
      .map((line) =>
        line
          .map(({ text }) => text)
          .join("")
          .trimEnd(),
      )
      .join("\n");
  }

  async shows(what: string | RegExp): Promise<string> {
    return this.when(`${what} in the picture`, () =>
      typeof what === "string" ? this.text.includes(what) : what.test(this.text),
    );
  }

  async when(what: string, holds: () => boolean): Promise<string> {
    await this.socket.wait(`${what}; the picture: ${this.text}`, () => {
      this.update();
      return holds();
    });
    return this.text;
  }

  /** Types like a person. @returns the number of the piece */
  type(text: string): number {
    this.number++;
    this.send(this.number, text);
    return this.number;
  }

  /** Sends a piece of input with this number. */
  send(number: number, text: string): void {
    this.socket.socket.send(encodeInput({ number, bytes: new TextEncoder().encode(text) }));
  }

  async took(number: number): Promise<void> {
    await this.socket.next(`input ${number} to be taken`, ({ type, n }) => type === "took" && n >= number);
  }
}
