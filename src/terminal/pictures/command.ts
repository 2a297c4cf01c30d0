/** Commands of kitty's graphics protocol, as text between `ESC _ G` and its end. Pure. */

/** Keys and values; absent ones are 0 or "". */
export class PictureCommand {
  private constructor(
    private readonly keys: ReadonlyMap<string, string>,
    /** Base64. */
    readonly payload: string,
  ) {}

  static parse(text: string): PictureCommand {
    const end = text.indexOf(";");
    const control = end < 0 ? text : text.slice(0, end);
    const keys = new Map<string, string>();
    for (const pair of control.slice(0, MAX_CONTROL).split(",")) {
      const [key = "", value = ""] = pair.split("=");
      keys.set(key, value);
    }
    return new PictureCommand(keys, end < 0 ? "" : text.slice(end + 1));
  }

  has(key: string): boolean {
    return this.keys.has(key);
  }

  letter(key: string, absent = ""): string {
    return this.keys.get(key)?.[0] ?? absent;
  }

  /** A 32-bit number; 0: anything else. */
  number(key: string): number {
    const value = this.keys.get(key) ?? "";
    return /^-?\d{1,10}$/.test(value) ? Number(value) : 0;
  }

  /** The same, never negative. */
  count(key: string): number {
    return Math.min(Math.max(0, this.number(key)), 0xffff_ffff);
  }
}

/** Longest control data to read, in characters: all existing keys take less. */
const MAX_CONTROL = 1024;
