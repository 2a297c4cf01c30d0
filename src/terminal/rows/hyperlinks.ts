/** Targets of hyperlinks (OSC 8) by the number that cells carry. The oldest are dropped; numbers are never reused. */

/** Maximum number of stored links. */
const MAX_LINKS = 8_192;
/** Longest target in characters; longer ones are not links. */
const MAX_TARGET = 4_096;

export class LinkTable {
  private readonly targets = new Map<number, string>();
  private readonly numbers = new Map<string, number>();
  private nextNumber = 1;

  /** The number of a target; 0 when it is too long. */
  add(target: string): number {
    if (target.length > MAX_TARGET) return 0;
    const existing = this.numbers.get(target);
    if (existing !== undefined) return existing;
    const number = this.nextNumber++;
    this.targets.set(number, target);
    this.numbers.set(target, number);
    if (this.targets.size > MAX_LINKS) {
      for (const [oldest, text] of this.targets) {
        this.targets.delete(oldest);
        this.numbers.delete(text);
        break;
      }
    }
    return number;
  }

  target(number: number): string | null {
    return this.targets.get(number) ?? null;
  }
}
