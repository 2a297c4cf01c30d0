/**
 * Inputs made from a saved corpus: every input of the corpus unchanged, then mutations of them. The
 * same seed makes the same inputs; a failure names its input in the corpus's form, to be saved there.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "./terminals/outer-screen.ts";

/** Mutations in an ordinary run: a second or two for all parsers. */
const BRIEF_ROUNDS = 3_000;
/** With WSH_TEST_FULL=1, in ms for each parser. */
const FULL_MS = 30_000;
/** Longest input made by mutation. */
const MAX_LENGTH = 64 * 1024;

const full = process.env.WSH_TEST_FULL === "1";
/** A different seed for each long run, unless one is given to repeat it. */
const seed = Number(process.env.WSH_FUZZ_SEED ?? (full ? Date.now() % 1_000_000 : 1));

export type Random = () => number;

/** A line holds a JSON string in which every character is a byte. */
function corpusOf(name: string): Uint8Array[] {
  const text = readFileSync(join(import.meta.dir, `../fixtures/fuzz/${name}.jsonl`), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => new Uint8Array(Buffer.from(String(JSON.parse(line)), "latin1")));
}

/** Calls `check` with every input, and with so many mutations of them; an error that it throws names the input. */
export async function fuzz(
  name: string,
  check: (input: Uint8Array, random: Random) => void | Promise<void>,
  briefRounds: number = BRIEF_ROUNDS,
): Promise<void> {
  const corpus = corpusOf(name);
  const random = seededRandom(seed);
  const attempt = async (input: Uint8Array): Promise<void> => {
    try {
      await check(input, random);
    } catch (error) {
      const line = JSON.stringify(Buffer.from(input).toString("latin1"));
      throw new Error(`seed ${seed}, to be saved in tests/fixtures/fuzz/${name}.jsonl: ${line}\n${error}`, {
        cause: error,
      });
    }
  };
  for (const input of corpus) await attempt(input);
  const deadline = performance.now() + FULL_MS;
  for (let round = 0; full ? performance.now() < deadline : round < briefRounds; round++) {
    let input = pick(corpus, random);
    for (let changes = 1 + below(6, random); changes > 0; changes--) input = mutate(input, corpus, random);
    await attempt(input.subarray(0, MAX_LENGTH));
  }
}

function below(end: number, random: Random): number {
  return Math.floor(random() * end);
}

/** The input in pieces, cut at random positions. */
export function pieces(input: Uint8Array, random: Random): Uint8Array[] {
  const cuts = Array.from({ length: below(6, random) }, () => below(input.length + 1, random)).sort((a, b) => a - b);
  return [0, ...cuts].map((from, index) => input.slice(from, cuts[index] ?? input.length));
}

function pick(corpus: readonly Uint8Array[], random: Random): Uint8Array {
  return corpus[below(corpus.length, random)] ?? new Uint8Array();
}

function mutate(input: Uint8Array, corpus: readonly Uint8Array[], random: Random): Uint8Array {
  const at = below(input.length + 1, random);
  const to = Math.min(input.length, at + 1 + below(16, random));
  const before = input.subarray(0, at);
  switch (below(7, random)) {
    case 0: {
      const flipped = new Uint8Array(input);
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << below(8, random));
      return flipped;
    }
    case 1:
      return joined(before, input.subarray(to));
    case 2:
      return joined(input.subarray(0, to), input.subarray(at));
    case 3:
      return joined(before, pick(corpus, random), input.subarray(at));
    case 4:
      return joined(
        before,
        Uint8Array.from({ length: 1 + below(4, random) }, () => below(256, random)),
        input.subarray(at),
      );
    case 5:
      return before;
    default:
      return input.length > 4096 ? input : joined(...Array.from({ length: 2 + below(6, random) }, () => input));
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
