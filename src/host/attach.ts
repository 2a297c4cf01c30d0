/**
 * One attached terminal, as the host serves it: bytes of the program go out as they were parsed, keys come in. The
 * snapshot and the beginning of the stream are one step between two chunks, so nothing is lost or doubled. A terminal
 * that does not keep up gets nothing more until it has read what it was sent, then the newest screen: it costs the host
 * its outbox and no more.
 */
import * as v from "valibot";
import { type Attach, AttachSchema, ResizeSchema } from "../protocol/attach.ts";
import { type Frame, frameJson, frameTypes } from "../protocol/frames.ts";
import type { StreamEnd } from "../protocol/hello.ts";
import type { Session } from "../session/session.ts";
import type { Size, Viewer, ViewerEnd } from "../session/viewers.ts";
import type { Peer } from "./peer.ts";

/** Bytes that may wait for a terminal before it is behind: a second of a fast ssh line, a few screens. */
const BEHIND_BYTES = 256 * 1024;
/** Home and clear, margins and modes as after a soft reset: what a repaint begins with. */
const REPAINT = new TextEncoder().encode("\x1b[!p\x1b[?6l\x1b[r\x1b[?1049l\x1b[0m\x1b[H\x1b[2J");

let nextViewerId = 1;

export class TerminalStream implements Viewer {
  readonly id = nextViewerId++;
  readonly readOnly: boolean;
  size: Size;
  private behind = false;
  private over = false;
  private readonly ends: (() => void)[] = [];

  private constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    attach: v.InferOutput<typeof AttachSchema>,
  ) {
    this.readOnly = attach.read_only;
    this.size = { rows: attach.rows, cols: attach.cols };
  }

  /** Attaches: the screen as it is, then everything after it. The first bytes may go out before the response. */
  static async open(session: Session, peer: Peer, input: unknown): Promise<TerminalStream> {
    const attach = v.parse(AttachSchema, input satisfies unknown as Attach);
    const stream = new TerminalStream(session, peer, attach);
    if (session.exit === null) {
      session.viewers.add(stream);
      await session.resize();
    }
    const history =
      attach.scrollback === "all" ? Number.POSITIVE_INFINITY : attach.scrollback === "none" ? 0 : attach.scrollback;
    await session.pane.terminal.atRest(() => {
      stream.send(session.pane.terminal.serialize({ history }));
      stream.ends.push(
        session.events.on("chunk", ({ bytes }) => stream.send(bytes)),
        session.streamOpened(),
      );
      if (session.exit !== null) {
        stream.end({ reason: "exited", exit_code: session.exit.code, signal: session.exit.signal });
      }
    });
    peer.onDrain = () => void stream.catchUp();
    stream.sizeChanged(session.size);
    return stream;
  }

  receive(frame: Frame): void {
    if (frame.type === frameTypes.input) {
      if (this.readOnly || this.over) return;
      if (this.session.viewers.acted(this.id)) void this.session.resize();
      this.session.typed(this.id, frame.payload);
    } else if (frame.type === frameTypes.resize) {
      this.size = v.parse(ResizeSchema, frameJson(frame));
      this.session.viewers.acted(this.id);
      void this.session.resize().then(() => this.sizeChanged(this.session.size));
    } else {
      this.close();
      this.peer.finish();
    }
  }

  sizeChanged(size: Size): void {
    this.peer.send(frameTypes.event, { event: "size", ...size });
  }

  end(reason: ViewerEnd): void {
    if (this.over) return;
    this.close();
    this.peer.send(frameTypes.end, { ...reason, name: this.session.name } satisfies StreamEnd);
    this.peer.finish();
  }

  /** The connection is gone, or the stream is over: nothing more is sent and nothing is kept. */
  close(): void {
    if (this.over) return;
    this.over = true;
    for (const end of this.ends) end();
    this.session.viewers.remove(this.id);
    if (this.session.exit === null) void this.session.resize();
  }

  private send(bytes: Uint8Array): void {
    if (this.behind || this.over || bytes.length === 0) return;
    this.peer.sendBytes(frameTypes.output, bytes);
    this.behind = this.peer.outbox.pending > BEHIND_BYTES;
  }

  private async catchUp(): Promise<void> {
    if (!this.behind || this.over) return;
    await this.session.pane.terminal.atRest(() => {
      this.behind = false;
      this.send(REPAINT);
      this.send(this.session.pane.terminal.serialize({ history: 0 }));
    });
  }
}
