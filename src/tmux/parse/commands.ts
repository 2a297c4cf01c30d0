/**
 * Parses tmux's command language, used in files, `if-shell` and `run-shell -C`, into commands of words. Quotes,
 * escapes, `$NAME`, `~`, `{ }` as one word, `#` comments, `;`, `%if` and assignments. Pure.
 *
 * Arguments of a command line are already words: only a `;` at a word's end separates commands there.
 */
import { TmuxError } from "../error.ts";

export interface Parsed {
  readonly line: number;
  readonly words: readonly string[];
}

interface Reading {
  readonly variable: (name: string) => string | undefined;
  /** Evaluates the condition of `%if`. */
  readonly isTrue: (format: string) => boolean;
  readonly home: string;
  readonly assign: (name: string, value: string, hidden: boolean) => void;
}

/** Splits a command line into commands: `a ; b`, `a\; b` as tmux gets them from a shell. */
export function splitWords(words: readonly string[]): string[][] {
  const commands: string[][] = [[]];
  for (const word of words) {
    if (!word.endsWith(";")) {
      commands.at(-1)?.push(word);
      continue;
    }
    if (word.endsWith("\\;")) {
      commands.at(-1)?.push(`${word.slice(0, -2)};`);
      continue;
    }
    if (word !== ";") commands.at(-1)?.push(word.slice(0, -1));
    commands.push([]);
  }
  return commands.filter((command) => command.length > 0);
}

/** @throws TmuxError `LINE: syntax error` */
export function parseCommands(text: string, reading: Reading): Parsed[] {
  return new Reader(text, reading).read();
}

/** A `%if` branch: whether its commands are read, and whether an earlier branch was. */
interface Branch {
  readonly outer: boolean;
  active: boolean;
  hasMatched: boolean;
}

class Reader {
  private position = 0;
  private line = 1;
  private readonly commands: Parsed[] = [];
  private readonly branches: Branch[] = [];

  constructor(
    private readonly text: string,
    private readonly reading: Reading,
  ) {}

  read(): Parsed[] {
    let words: string[] = [];
    let start = this.line;
    const finish = (): void => {
      if (words.length > 0) this.endCommand(start, words);
      words = [];
    };
    for (;;) {
      this.skipBlanks();
      const char = this.text[this.position];
      if (char === undefined) break;
      if (char === "\n" || char === ";") {
        this.position++;
        finish();
        if (char === "\n") this.line++;
      } else if (char === "#" && !/[{(]/.test(this.text[this.position + 1] ?? "")) {
        while (this.position < this.text.length && this.text[this.position] !== "\n") this.position++;
      } else {
        if (words.length === 0) start = this.line;
        words.push(this.readWord());
      }
    }
    finish();
    if (this.branches.length > 0) throw this.syntaxError();
    return this.commands;
  }

  private get isActive(): boolean {
    return this.branches.at(-1)?.active ?? true;
  }

  private endCommand(line: number, words: readonly string[]): void {
    const [first = "", second = ""] = words;
    if (/^%(if|elif|else|endif)$/.test(first)) {
      this.branch(first, second);
      return;
    }
    if (!this.isActive) return;
    const isHidden = first === "%hidden";
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(isHidden ? second : first) ?? [];
    const isAssigned = name !== undefined && words.length === (isHidden ? 2 : 1);
    if (isAssigned) this.reading.assign(name, value ?? "", isHidden);
    else this.commands.push({ line, words });
  }

  private branch(word: string, condition: string): void {
    const top = this.branches.at(-1);
    if (word === "%if") {
      const outer = this.isActive;
      const active = outer && this.reading.isTrue(condition);
      this.branches.push({ outer, active, hasMatched: active });
      return;
    }
    if (top === undefined) throw this.syntaxError();
    if (word === "%endif") {
      this.branches.pop();
      return;
    }
    top.active = top.outer && !top.hasMatched && (word === "%else" || this.reading.isTrue(condition));
    top.hasMatched ||= top.active;
  }

  private skipBlanks(): void {
    for (;;) {
      const char = this.text[this.position];
      if (char === " " || char === "\t" || char === "\r") this.position++;
      else if (char === "\\" && this.text[this.position + 1] === "\n") {
        this.position += 2;
        this.line++;
      } else return;
    }
  }

  private readWord(): string {
    let word = "";
    for (let first = true; ; first = false) {
      const char = this.text[this.position];
      if (char === undefined || /[\s;]/.test(char)) return word;
      if (char === "}" && first) throw this.syntaxError();
      if (char === "{" && first) return this.braces();
      this.position++;
      if (char === "'") word += this.single();
      else if (char === '"') word += this.double();
      else if (char === "\\") word += this.escaped();
      else if (char === "$") word += this.variable();
      else if (char === "~" && first) word += this.reading.home;
      else if (char === "#" && this.text[this.position] === "{") word += `#${this.format()}`;
      else word += char;
    }
  }

  /** `#{…}` is one part of a word, whatever it contains. */
  private format(): string {
    const from = this.position;
    let depth = 0;
    for (; this.position < this.text.length; this.position++) {
      const char = this.text[this.position];
      if (char === "\n") break;
      if (char === "{" && this.text[this.position - 1] === "#") depth++;
      if (char === "}" && --depth === 0) {
        this.position++;
        return this.text.slice(from, this.position);
      }
    }
    throw this.syntaxError();
  }

  private single(): string {
    // As in tmux, an unclosed quote ends with the text.
    const closing = this.text.indexOf("'", this.position);
    const end = closing === -1 ? this.text.length : closing;
    const inside = this.text.slice(this.position, end);
    this.line += inside.split("\n").length - 1;
    this.position = end + 1;
    return inside;
  }

  private double(): string {
    let word = "";
    for (;;) {
      const char = this.text[this.position++];
      if (char === undefined || char === '"') return word;
      if (char === "\n") this.line++;
      if (char === "\\") word += this.escaped();
      else if (char === "$") word += this.variable();
      else word += char;
    }
  }

  private escaped(): string {
    const rest = this.text.slice(this.position);
    const [octal] = /^[0-3][0-7]{2}/.exec(rest) ?? [];
    if (octal !== undefined) {
      this.position += 3;
      return String.fromCharCode(Number.parseInt(octal, 8));
    }
    const [, unit, digits] = /^(?:(u)([0-9A-Fa-f]{4})|U[0-9A-Fa-f]{8})/.exec(rest) ?? [];
    if (/^(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})/.test(rest)) {
      const hex = unit === undefined ? rest.slice(1, 9) : (digits ?? "");
      this.position += 1 + hex.length;
      return String.fromCodePoint(Number.parseInt(hex, 16));
    }
    const char = this.text[this.position++] ?? "";
    if (char === "\n") {
      this.line++;
      return "";
    }
    return escapes[char] ?? char;
  }

  private variable(): string {
    const rest = this.text.slice(this.position);
    const [whole, braced, plain] = /^(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/.exec(rest) ?? [];
    if (whole === undefined) {
      if (rest.startsWith("{")) throw this.syntaxError();
      return "$";
    }
    this.position += whole.length;
    return this.reading.variable(braced ?? plain ?? "") ?? "";
  }

  /** Commands between braces are one word, unchanged. */
  private braces(): string {
    const from = ++this.position;
    for (let depth = 1; ; ) {
      const char = this.text[this.position++];
      if (char === undefined) throw this.syntaxError();
      if (char === "\n") this.line++;
      else if (char === "\\") this.position++;
      else if (char === "'") this.single();
      else if (char === '"') this.skipDouble();
      else if (char === "{") depth++;
      else if (char === "}" && --depth === 0) return this.text.slice(from, this.position - 1).trim();
    }
  }

  private skipDouble(): void {
    for (;;) {
      const char = this.text[this.position++];
      if (char === undefined) throw this.syntaxError();
      if (char === "\\") this.position++;
      if (char === '"') return;
    }
  }

  private syntaxError(): TmuxError {
    return new TmuxError(`${this.line}: syntax error`);
  }
}

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  s: " ",
  v: "\v",
  r: "\r",
  n: "\n",
  t: "\t",
};
