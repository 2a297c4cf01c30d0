/**
 * Parsers of untrusted data withstand any input: frames of session sockets, requests of WebSockets, keys of
 * terminals, output of programs. Briefly in every run, for minutes with WSH_TEST_FULL=1.
 */
import { expect, test } from "bun:test";
import { decodeKeys, flushKeys, initialKeyState } from "../../src/keys/decode.ts";
import type { InputEvent } from "../../src/keys/types.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { encodeMessage, MessageDecoder, messageJson, type WireMessage } from "../../src/protocol/messages.ts";
import { parseRequest, parseSubscription } from "../../src/server/websocket/json-socket.ts";
import { TerminalModel } from "../../src/terminal/model.ts";
import { defaultProfile } from "../../src/terminal/profile.ts";
import { fuzz, pieces, type Random } from "../support/fuzz.ts";

const PATIENCE_MS = 300_000;

/** A thrown error must be meant for the sender. */
function refusal(fn: () => unknown): string | null {
  try {
    fn();
    return null;
  } catch (error) {
    if (error instanceof WshError && error.code !== "internal_error") return error.code;
    throw error;
  }
}

test(
  "frames: the same however they are cut, and what is wrong stays wrong",
  async () => {
    const decode = (parts: readonly Uint8Array[]): { frames: WireMessage[]; wrong: boolean } => {
      const decoder = new MessageDecoder();
      const frames: WireMessage[] = [];
      const wrong = parts.some((part) => refusal(() => frames.push(...decoder.push(part))) !== null);
      return { frames, wrong };
    };
    await fuzz("frames", (input, random) => {
      const whole = decode([input]);
      const cut = decode(pieces(input, random));
      expect(cut.wrong).toBe(whole.wrong);
      // A bad frame takes the good ones of its read with it, so cut input may show more of them.
      if (!whole.wrong) expect(cut.frames).toEqual(whole.frames);
      for (const frame of cut.frames) refusal(() => messageJson(frame));
      const again = decode([Buffer.concat(cut.frames.map(({ type, payload }) => encodeMessage(type, payload)))]);
      expect(again.frames).toEqual(cut.frames);
    });
  },
  PATIENCE_MS,
);

test(
  "requests: understood, or refused with a code",
  async () => {
    await fuzz("requests", (input) => {
      const text = new TextDecoder().decode(input);
      const code = refusal(() => {
        const request = parseRequest(text);
        expect(typeof request.method).toBe("string");
        expect(request.params).toBeObject();
        if (request.method === "subscribe") refusal(() => parseSubscription(request.params));
      });
      expect([null, "invalid_request", "invalid_format"]).toContain(code);
    });
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "keys: nothing lost, nothing invented, nothing kept for ever",
  async () => {
    await fuzz("keys", (input, random) => {
      let state = initialKeyState;
      const events: InputEvent[] = [];
      for (const piece of pieces(input, random)) {
        const step = decodeKeys(state, piece);
        events.push(...step.events);
        state = step.state;
      }
      for (let rounds = 0; state.rest.length > 0 && rounds < 1_000; rounds++) {
        const step = flushKeys(state);
        events.push(...step.events);
        state = step.state;
      }
      const raw = Buffer.concat([...events.map((event) => event.raw), state.rest]);
      expect(raw.equals(input)).toBe(true);
      for (const { parsed } of events) if (parsed !== null) expect(parsed.key.length).toBeGreaterThan(0);
    });
  },
  PATIENCE_MS,
);

/** A terminal that records what it would type and answer. */
function terminal(rows: number, cols: number) {
  const replies: Uint8Array[] = [];
  const titles: string[] = [];
  const ignore = (): void => {};
  const model = new TerminalModel(
    { rows, cols, historyLines: 100, historyBytes: 1e6, nonce: "N0NCE", profile: defaultProfile },
    {
      reply: (bytes) => void replies.push(bytes),
      title: (title) => void titles.push(title),
      chunk: ignore,
      mark: ignore,
      bell: ignore,
      cwd: ignore,
      alternate: ignore,
      clipboard: ignore,
      reset: ignore,
    },
  );
  return { model, replies, titles };
}

async function show(input: Uint8Array, random: Random): Promise<void> {
  const { model, replies, titles } = terminal(6, 20);
  for (const piece of pieces(input, random)) await model.write(piece);
  const screen = await model.whenAtRest(() => model.screen("styled"));
  expect(screen.lines).toHaveLength(6);
  expect(screen.cursor.row).toBeWithin(0, 6);
  expect(screen.cursor.col).toBeWithin(0, 21);
  expect(model.offset).toBeLessThanOrEqual(input.length);
  // Answers are terminal sequences: a shell that reads them runs nothing.
  expect(Buffer.concat(replies).toString("latin1")).not.toMatch(/[\r\n]/);
  for (const title of titles) expect(title).not.toMatch(/\p{Cc}/u);
  // The bytes for a new terminal show the same again.
  const copy = terminal(6, 20).model;
  await copy.write(model.serialize({ history: 10 }));
  copy.dispose();
  model.dispose();
}

test(
  "output: a screen of the right size, answers that type nothing, titles without controls",
  async () => {
    // Two terminals for each input.
    await fuzz("output", show, 1_000);
  },
  PATIENCE_MS,
);
