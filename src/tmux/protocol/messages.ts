/** Messages of tmux's protocol, version 8: their numbers and their data. Pure. */

export const messages = {
  version: 12,
  identifyFlags: 100,
  identifyTerm: 101,
  identifyTty: 102,
  identifyStdin: 104,
  identifyEnviron: 105,
  identifyDone: 106,
  identifyPid: 107,
  identifyCwd: 108,
  identifyStdout: 110,
  identifyLongFlags: 111,
  command: 200,
  exit: 203,
  exited: 204,
  exiting: 205,
  ready: 207,
  shell: 209,
  exec: 217,
  flags: 218,
  readOpen: 300,
  read: 301,
  readDone: 302,
  writeOpen: 303,
  write: 304,
  writeReady: 305,
  writeClose: 306,
} as const;

/** Bits of a client's flags. */
export const clientFlags = { control: 0x2000, controlControl: 0x4000, waitExit: 0x200000000n } as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Packs 32-bit numbers, then bytes. */
export function packed(numbers: readonly number[], ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const head = new Uint8Array(numbers.length * 4);
  const view = new DataView(head.buffer);
  for (const [i, number] of numbers.entries()) view.setInt32(i * 4, number, true);
  return Buffer.concat([head, ...parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part))]);
}

/** The 32-bit number at an index of the data; 0 if the data is too short. */
export function numberAt(data: Uint8Array, index: number): number {
  if (data.length < index * 4 + 4) return 0;
  return new DataView(data.buffer, data.byteOffset).getInt32(index * 4, true);
}

/** The text up to the terminating NUL. */
export function textOf(data: Uint8Array): string {
  const end = data.indexOf(0);
  return decoder.decode(end === -1 ? data : data.subarray(0, end));
}

/** The words of a command; null if there are fewer than announced. */
export function wordsOf(data: Uint8Array): readonly string[] | null {
  const count = numberAt(data, 0);
  const words = decoder.decode(data.subarray(4)).split("\0");
  return words.length === count + 1 ? words.slice(0, count) : null;
}
