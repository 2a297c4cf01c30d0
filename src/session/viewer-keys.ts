/**
 * Splits the input of several terminals into keys: one unfinished key per terminal, which waits for its end for a
 * limited time. Ends with `dispose`, or for one terminal with `forget`.
 */
import type { Clock } from "../base/clock.ts";
import { decodeKeys, flushKeys, initialKeyState, isWaiting, type KeyState } from "../keys/decode.ts";
import type { InputEvent } from "../keys/types.ts";

/** Time during which a lone Escape may begin a sequence, in ms. */
const ESCAPE_MS = 25;

/** The unfinished key of a terminal. */
interface Decoder {
  state: KeyState;
  timer: Disposable | null;
}

export class ViewerKeys {
  private readonly decoders = new Map<number, Decoder>();

  constructor(
    private readonly clock: Clock,
    private readonly onEvents: (events: readonly InputEvent[], viewer: number) => void,
    /** 0: keys arrive complete, since another reader has waited for their end. */
    private readonly escapeMs = ESCAPE_MS,
  ) {}

  push(viewer: number, bytes: Uint8Array): void {
    const decoder = this.decoders.get(viewer) ?? { state: initialKeyState, timer: null };
    this.decoders.set(viewer, decoder);
    decoder.timer?.[Symbol.dispose]();
    const { events, state } = decodeKeys(decoder.state, bytes);
    decoder.state = state;
    this.onEvents(events, viewer);
    if (this.escapeMs > 0) this.armTimer(viewer, decoder);
    else if (isWaiting(decoder.state)) this.flush(viewer, decoder);
  }

  /** Drops a terminal's unfinished key. */
  forget(viewer: number): void {
    this.decoders.get(viewer)?.timer?.[Symbol.dispose]();
    this.decoders.delete(viewer);
  }

  dispose(): void {
    for (const viewer of [...this.decoders.keys()]) this.forget(viewer);
  }

  private armTimer(viewer: number, decoder: Decoder): void {
    decoder.timer = !isWaiting(decoder.state)
      ? null
      : this.clock.after(this.escapeMs, () => {
          this.flush(viewer, decoder);
          this.armTimer(viewer, decoder);
        });
  }

  private flush(viewer: number, decoder: Decoder): void {
    const { events, state } = flushKeys(decoder.state);
    decoder.state = state;
    this.onEvents(events, viewer);
  }
}
