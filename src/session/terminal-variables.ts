/**
 * Variables that the last attached terminal brought: they locate the person's agents and screens. They remain
 * after it detaches. Pure.
 *
 * Invariant: a variable that the terminal lacks has no value (null), and every value that a program of the session may
 * have got from here is remembered, up to a limit: in a running shell, only a remembered value is ever replaced.
 */

/** Values remembered of each variable. */
const MAX_VALUES = 16;

export class TerminalVariables {
  private readonly values = new Map<string, { now: string | null; readonly given: string[] }>();

  /** The initial environment of the session's programs. */
  setInitial(env: Readonly<Record<string, string | undefined>>, names: readonly string[]): void {
    for (const name of names) {
      const value = env[name];
      if (value !== undefined) this.values.set(name, { now: value, given: [value] });
    }
  }

  /** @returns whether anything has changed */
  update(variables: Readonly<Record<string, string>>, names: readonly string[]): boolean {
    let isChanged = false;
    for (const name of names) {
      const now = variables[name] ?? null;
      const before = this.values.get(name);
      if (before === undefined && now === null) continue;
      const value = before ?? { now: null, given: [] };
      isChanged ||= value.now !== now || before === undefined;
      value.now = now;
      if (now !== null && !value.given.includes(now)) value.given.push(now);
      if (value.given.length > MAX_VALUES) value.given.shift();
      this.values.set(name, value);
    }
    return isChanged;
  }

  /** Null: the terminal has none. */
  get variables(): Record<string, string | null> {
    return Object.fromEntries([...this.values].map(([name, { now }]) => [name, now]));
  }

  /** The variables that have a value. */
  get defined(): Record<string, string> {
    return Object.fromEntries([...this.values].flatMap(([name, { now }]) => (now === null ? [] : [[name, now]])));
  }

  /** Values of a variable that programs of the session may have got from here. */
  issuedValues(name: string): readonly string[] {
    return this.values.get(name)?.given ?? [];
  }
}
