/** Splits the words of one tmux command into flags and arguments as tmux 3.3a does, with its error texts. Pure. */
import { TmuxError } from "../error.ts";

/**
 * The syntax of a command: `dt:` are the flag -d and the flag -t with a value; the numbers of arguments, null without a
 * limit.
 */
export interface Syntax {
  readonly flags: string;
  readonly least: number;
  readonly most: number | null;
}

export class Arguments {
  constructor(
    private readonly values: ReadonlyMap<string, readonly string[]>,
    readonly words: readonly string[],
  ) {}

  has(flag: string): boolean {
    return this.values.has(flag);
  }

  /** The last value of a flag; undefined if it was not given. */
  get(flag: string): string | undefined {
    return this.values.get(flag)?.at(-1);
  }

  all(flag: string): readonly string[] {
    return this.values.get(flag) ?? [];
  }

  /** Number of times that a flag was given. */
  count(flag: string): number {
    return this.all(flag).length;
  }

  /** A copy with one more flag. */
  with(flag: string): Arguments {
    return new Arguments(new Map([...this.values, [flag, [""]]]), this.words);
  }

  /** A copy with the same flags and other words. */
  withWords(words: readonly string[]): Arguments {
    return new Arguments(this.values, words);
  }

  word(index: number): string | undefined {
    return this.words[index];
  }
}

/** @throws TmuxError in tmux's words */
export function parseArguments(command: string, { flags, least, most }: Syntax, words: readonly string[]): Arguments {
  const values = new Map<string, string[]>();
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-") || word === "-") break;
    if (word === "--") {
      at++;
      break;
    }
    at = readFlags(command, flags, words, at, values);
  }
  const rest = words.slice(at);
  if (rest.length < least) throw new TmuxError(`command ${command}: too few arguments (need at least ${least})`);
  if (most !== null && rest.length > most)
    throw new TmuxError(`command ${command}: too many arguments (need at most ${most})`);
  return new Arguments(values, rest);
}

/** Reads one word of flags. @returns index of the last word read */
function readFlags(
  command: string,
  flags: string,
  words: readonly string[],
  at: number,
  values: Map<string, string[]>,
): number {
  const word = words[at] ?? "";
  for (let i = 1; i < word.length; i++) {
    const flag = word[i] ?? "";
    const index = /[A-Za-z0-9]/.test(flag) ? flags.indexOf(flag) : -1;
    if (index === -1) {
      const isFlag = /[A-Za-z0-9]/.test(flag);
      throw new TmuxError(`command ${command}: ${isFlag ? `unknown flag -${flag}` : `invalid flag -${flag}`}`);
    }
    const earlierValues = values.get(flag) ?? [];
    values.set(flag, earlierValues);
    if (flags[index + 1] !== ":") {
      earlierValues.push("");
      continue;
    }
    if (i + 1 < word.length) {
      earlierValues.push(word.slice(i + 1));
      return at;
    }
    const next = words[at + 1];
    if (next === undefined) throw new TmuxError(`command ${command}: -${flag} expects an argument`);
    earlierValues.push(next);
    return at + 1;
  }
  return at;
}

/** Arguments as tmux prints them: flags without a value joined, then those with one. */
export function orderedWords({ flags: known }: Pick<Syntax, "flags">, args: Arguments): string[] {
  const flags = [...known.replaceAll(":", "")].filter((flag) => args.has(flag)).toSorted();
  const takesValue = (flag: string): boolean => known.includes(`${flag}:`);
  const plainFlags = flags.flatMap((flag) => (takesValue(flag) ? [] : [flag.repeat(args.count(flag))])).join("");
  const valued = flags.filter(takesValue).flatMap((flag) => args.all(flag).flatMap((value) => [`-${flag}`, value]));
  const rest = args.word(0)?.startsWith("-") === true && args.word(0) !== "-" ? ["--", ...args.words] : args.words;
  return [...(plainFlags === "" ? [] : [`-${plainFlags}`]), ...valued, ...rest];
}
