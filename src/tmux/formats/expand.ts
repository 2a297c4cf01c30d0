/**
 * tmux's formats: `#{…}` with conditionals, comparisons, modifiers and loops, `#S` and its like, `#(…)`. Pure: the
 * scope supplies values of variables and output of shells.
 *
 * Every rule is that of tmux 3.3a; a test compares the results. A malformed format ends the expansion there, an unknown
 * variable is empty.
 */
import { timeText } from "../../protocol/strftime.ts";
import { TmuxError } from "../error.ts";
import { arithmetic } from "./arithmetic.ts";
import { colorHex } from "./colors.ts";
import { type Modifier, readModifiers } from "./modifiers.ts";
import { extended, fnmatch, substitute } from "./pattern.ts";
import { isTrue, skipTo, splitAtComma } from "./syntax.ts";
import { basename, dirname, quoteShell, quoteStyle } from "./text.ts";
import { displayWidth, padded, trimmed } from "./width.ts";

/** The session, window or pane in which a format is expanded: its variables, and the objects in it. */
export interface FormatScope {
  /** Undefined for an unknown variable. */
  find(name: string): string | undefined;
  /** A scope for each session, window or pane, in order; null if there is nothing to iterate over. */
  loop(
    collection: "sessions" | "windows" | "panes",
  ): readonly { readonly scope: FormatScope; readonly active: boolean }[] | null;
  /** Whether a session, or a window of the session, has this name; null outside of a session. */
  isNamed(what: "window" | "session", name: string): boolean | null;
  /** The number of the pane's first screen line that passes the test, from 1; 0: none does. */
  search(test: (line: string) => boolean): number;
  /** The first line that a shell command prints. */
  shell(command: string): string;
}

/** Deepest nesting, as in tmux. */
const MAX_DEPTH = 100;

/**
 * Maximum characters that one expansion may read and write in total: a session's process expands formats for
 * any caller.
 */
const MOST_WORK = 2 * 1024 * 1024;

/** Fixed cost of one `#{…}`, in characters. */
const REPLACEMENT = 48;

class WorkBudget {
  private remaining = MOST_WORK;

  /** @throws TmuxError `format too long` */
  spend(characters: number): void {
    this.remaining -= characters;
    if (this.remaining < 0) throw new TmuxError("format too long");
  }
}

/** `#S` and similar. */
const short: Readonly<Record<string, string>> = {
  D: "pane_id",
  F: "window_flags",
  H: "host",
  I: "window_index",
  P: "pane_index",
  S: "session_name",
  T: "pane_title",
  W: "window_name",
  h: "host_short",
};

export function expand(scope: FormatScope, format: string, isTimed = false): string {
  return new Expansion(scope, isTimed, 0, new WorkBudget()).text(format);
}

/**
 * A variable that is not an option: names, titles and paths are text of programs and people, so a command in them
 * (`#(…)`) is not run when they are expanded once more.
 */
const namesVariable = /(?<![@\w-])[a-z]+_[a-z_]+|#[A-Zh]/;

/** A malformed format: the text read so far is the result. */
const UNREADABLE = Symbol();

class Expansion {
  constructor(
    private readonly scope: FormatScope,
    private readonly isTimed: boolean,
    private depth: number,
    private readonly work: WorkBudget,
    private readonly hasJobs = true,
  ) {}

  text(template: string): string {
    if (template === "" || this.depth >= MAX_DEPTH) return "";
    this.depth++;
    const format = this.isTimed && template.includes("%") ? timeText(new Date(), template) : template;
    const out = this.expandParts(format);
    this.work.spend(template.length + out.length);
    this.depth--;
    return out;
  }

  private expandParts(format: string): string {
    let out = "";
    for (let index = 0; index < format.length; ) {
      const char = format[index++] ?? "";
      if (char !== "#") {
        out += char;
        continue;
      }
      const next = format[index++];
      if (next === undefined) return out;
      if (next === "(") {
        const end = closing(format, index);
        if (end === -1) return out;
        if (this.hasJobs) out += this.scope.shell(this.text(format.slice(index, end)));
        index = end + 1;
      } else if (next === "{") {
        const end = skipTo(format, index - 2, "}");
        const value = end === -1 ? UNREADABLE : this.replace(format.slice(index, end));
        if (value === UNREADABLE) return out;
        out += value;
        index = end + 1;
      } else if (next === "#" || next === "}" || next === ",") {
        const [styled] = next === "#" ? (/^#+\[/.exec(format.slice(index - 1)) ?? []) : [];
        if (styled === undefined) out += next;
        else {
          out += `#${styled}`;
          index += styled.length - 1;
        }
      } else {
        const name = short[next];
        if (name === undefined) out += `#${next}`;
        else out += this.scope.find(name) ?? "";
      }
    }
    return out;
  }

  /** Replaces the text between `#{` and `}`. */
  private replace(key: string): string | typeof UNREADABLE {
    this.work.spend(REPLACEMENT);
    const { list, rest } = readModifiers(key, (argument) => this.text(argument));
    const value = this.valueOf(list, rest);
    return value === UNREADABLE ? value : this.shaped(list, value, rest);
  }

  private valueOf(list: readonly Modifier[], copy: string): string | typeof UNREADABLE {
    const hasModifier = (name: string): boolean => list.some((each) => each.name === name);
    const last = (...names: string[]): Modifier | undefined => list.findLast(({ name }) => names.includes(name));
    if (hasModifier("l")) return copy;
    if (hasModifier("a")) {
      const code = Number(this.text(copy));
      return Number.isInteger(code) && code >= 32 && code <= 126 ? String.fromCharCode(code) : "";
    }
    if (hasModifier("c")) return colorHex(this.text(copy));
    const loop = hasModifier("S") ? "sessions" : hasModifier("W") ? "windows" : hasModifier("P") ? "panes" : null;
    if (loop !== null) return this.loop(loop, copy);
    const nameTest = last("N");
    if (nameTest !== undefined) return this.nameExists(nameTest.arguments[0], copy);
    const search = last("C");
    if (search !== undefined) return this.search(search.arguments[0] ?? "", this.text(copy));
    const comparison = last("m", "<", ">", "||", "&&", "==", "!=", ">=", "<=");
    if (comparison !== undefined) return this.compare(comparison, copy);
    if (copy.startsWith("?")) return this.conditional(list, copy);
    const sum = list.findLast(({ name, arguments: given }) => name === "e" && given.length >= 1 && given.length <= 3);
    if (sum !== undefined) {
      const sides = splitAtComma(copy);
      return sides === null ? "" : arithmetic(sum.arguments, this.text(sides[0]), this.text(sides[1]));
    }
    if (copy.includes("#{")) return this.text(copy);
    return this.variable(list, copy) ?? "";
  }

  /** Reads a variable, with the modifiers that apply to variables only. */
  private variable(list: readonly Modifier[], name: string): string | undefined {
    const time = list.findLast((each) => each.name === "t");
    let value = this.scope.find(name);
    if (value === undefined) return undefined;
    if (time !== undefined) {
      if (!/^\d+$/.test(value) || value === "0") return "";
      const at = new Date(Number(value) * 1000);
      const [how = "", format = ""] = time.arguments;
      if (how.includes("p")) return timeText(at, isSameDay(at) ? "%H:%M" : isRecent(at) ? "%a %H:%M" : "%h%y");
      return timeText(at, how.includes("f") && time.arguments.length >= 2 ? format : "%a %b %e %H:%M:%S %Y");
    }
    for (const { name: kind, arguments: given } of list) {
      if (kind === "b") value = basename(value);
      if (kind === "d") value = dirname(value);
      if (kind === "q")
        value = given.length === 0 ? quoteShell(value) : /[eh]/.test(given[0] ?? "") ? quoteStyle(value) : value;
    }
    return value;
  }

  private loop(collection: "sessions" | "windows" | "panes", copy: string): string | typeof UNREADABLE {
    const each = this.scope.loop(collection);
    if (each === null) return UNREADABLE;
    const sides = collection === "sessions" ? null : splitAtComma(copy);
    return each
      .map(({ scope, active }) => {
        const use = sides === null ? copy : active ? sides[1] : sides[0];
        return new Expansion(scope, this.isTimed, this.depth, this.work, this.hasJobs).text(use);
      })
      .join("");
  }

  private nameExists(flags: string | undefined, copy: string): string | typeof UNREADABLE {
    const what = flags === undefined || flags.includes("w") ? "window" : flags.includes("s") ? "session" : null;
    if (what === null) return this.scope.find(copy) ?? "";
    const is = this.scope.isNamed(what, this.text(copy));
    return is === null ? UNREADABLE : is ? "1" : "0";
  }

  private search(flags: string, text: string): string {
    const isCaseless = flags.includes("i");
    if (flags.includes("r")) {
      const pattern = extended(text, isCaseless);
      return String(pattern === null ? 0 : this.scope.search((line) => pattern(line)));
    }
    return String(this.scope.search((line) => fnmatch(`*${text}*`, line, isCaseless)));
  }

  private compare({ name, arguments: given }: Modifier, copy: string): string | typeof UNREADABLE {
    const sides = splitAtComma(copy);
    if (sides === null) return UNREADABLE;
    const [left, right] = [this.text(sides[0]), this.text(sides[1])];
    return this.isMet(name, given[0] ?? "", left, right) ? "1" : "0";
  }

  private isMet(name: string, flags: string, left: string, right: string): boolean {
    const order = Buffer.compare(Buffer.from(left), Buffer.from(right));
    switch (name) {
      case "||":
        return isTrue(left) || isTrue(right);
      case "&&":
        return isTrue(left) && isTrue(right);
      case "==":
        return order === 0;
      case "!=":
        return order !== 0;
      case "<":
        return order < 0;
      case ">":
        return order > 0;
      case "<=":
        return order <= 0;
      case ">=":
        return order >= 0;
      default: {
        const isCaseless = flags.includes("i");
        if (!flags.includes("r")) return fnmatch(left, right, isCaseless);
        return extended(left, isCaseless)?.(right) ?? false;
      }
    }
  }

  private conditional(list: readonly Modifier[], copy: string): string | typeof UNREADABLE {
    const comma = skipTo(copy, 1, ",");
    if (comma === -1) return UNREADABLE;
    const condition = copy.slice(1, comma);
    let value = this.variable(list, condition);
    if (value === undefined) {
      value = this.text(condition);
      if (value === condition) value = "";
    }
    const sides = splitAtComma(copy.slice(comma + 1));
    if (sides === null) return UNREADABLE;
    return this.text(isTrue(value) ? sides[0] : sides[1]);
  }

  /** Applies the modifiers of a value: expands it again, substitutes, shortens, pads, measures. */
  private shaped(list: readonly Modifier[], first: string, copy: string): string {
    let value = first;
    const again = ["E", "T"].find((each) => list.some(({ name }) => name === each));
    if (again !== undefined) {
      const hasJobs = this.hasJobs && !namesVariable.test(copy);
      const isTimed = this.isTimed || again === "T";
      value = new Expansion(this.scope, isTimed, this.depth, this.work, hasJobs).text(value);
    }
    for (const { name, arguments: parameters } of list) {
      const [pattern = "", by = "", flags = ""] = parameters;
      if (name === "s" && parameters.length >= 2)
        value = substitute(value, this.text(pattern), this.text(by), flags.includes("i"));
      this.work.spend(value.length);
    }
    const limit = list.findLast(({ name, arguments: given }) => name === "=" && given.length > 0);
    if (limit !== undefined) {
      const [count = "", marker = ""] = limit.arguments;
      const kept = trimmed(value, wholeNumber(count));
      value = kept === value ? value : wholeNumber(count) > 0 ? `${kept}${marker}` : `${marker}${kept}`;
    }
    const width = list.findLast(({ name, arguments: given }) => name === "p" && given.length > 0);
    if (width !== undefined) {
      const cells = wholeNumber(width.arguments[0] ?? "");
      this.work.spend(Math.abs(cells));
      value = padded(value, cells);
    }
    if (list.some(({ name }) => name === "n")) value = String(Buffer.byteLength(value));
    if (list.some(({ name }) => name === "w")) value = String(displayWidth(value));
    return value;
  }
}

function wholeNumber(text: string): number {
  return /^[+-]?\d+$/.test(text) ? Number(text) : 0;
}

function closing(format: string, from: number): number {
  let depth = 1;
  for (let at = from; at < format.length; at++) {
    if (format[at] === "(") depth++;
    if (format[at] === ")" && --depth === 0) return at;
  }
  return -1;
}

function isSameDay(at: Date): boolean {
  return Date.now() - at.getTime() < 86_400_000;
}

function isRecent(at: Date): boolean {
  return Date.now() - at.getTime() < 28 * 86_400_000;
}
