/**
 * What a person has refused to AI agents in this session, so that nobody is worn down by being asked again: the same
 * call is refused for a while, and every call once an agent, or all agents together, were refused often. Agents are
 * known by their names as owners, so a new connection changes nothing; new names count together.
 */
import { plural } from "../protocol/plural.ts";

/** Time for which a refusal counts, in ms: the person works on. */
const REFUSED_MS = 300_000;
/** Refusals of one agent in that time after which it is not heard. */
const MOST_OF_ONE = 3;
/** The same for all agents together: names cost nothing. */
const MOST_OF_ALL = 12;
const MINUTE_MS = 60_000;

interface Refusal {
  readonly agent: string;
  readonly thing: string;
  readonly until: number;
}

export class Refusals {
  private refused: Refusal[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  add(agent: string, thing: string): void {
    this.refused = [...this.current(), { agent, thing, until: this.now() + REFUSED_MS }].slice(-MOST_OF_ALL);
  }

  /** Why the agent's call is refused without a question; null: a person may be asked. */
  of(agent: string, thing: string): string | null {
    const current = this.current();
    const own = current.filter((each) => each.agent === agent);
    const same = own.find((each) => each.thing === thing);
    if (same !== undefined) return `the person has just refused it and will not be asked again for ${this.rest(same)}`;
    const [first] = own.length >= MOST_OF_ONE ? own : current.length >= MOST_OF_ALL ? current : [];
    if (first === undefined) return null;
    const whom = own.length >= MOST_OF_ONE ? "the person has refused it often" : "the person has refused agents often";
    return `${whom} and will not be asked again for ${this.rest(first)}`;
  }

  private current(): Refusal[] {
    return this.refused.filter(({ until }) => until > this.now());
  }

  private rest({ until }: Refusal): string {
    return plural(Math.max(1, Math.ceil((until - this.now()) / MINUTE_MS)), "minute");
  }
}
