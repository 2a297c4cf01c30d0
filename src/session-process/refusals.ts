/**
 * Records what a person refused AI agents in this session, so that agents cannot wear the person down with
 * repeated questions: the same call is refused for a while, and every call once an agent, or all agents together,
 * were refused often. Agents are identified by their names as owners, so a new connection changes nothing. New
 * names are covered by the limit of all agents together.
 */
import { plural } from "../protocol/plural.ts";

/** Time for which a refusal counts, in ms: meanwhile the person works undisturbed. */
const REFUSAL_MS = 300_000;
/** Refusals of one agent within REFUSAL_MS after which its calls are refused without a question. */
const MAX_OF_ONE = 3;
/** The same for all agents together: an agent can take new names. */
const MAX_OF_ALL = 12;
const MINUTE_MS = 60_000;

interface Refusal {
  readonly agent: string;
  readonly callKey: string;
  readonly until: number;
}

export class Refusals {
  private refusals: Refusal[] = [];

  add(agent: string, callKey: string): void {
    this.refusals = [...this.currentRefusals(), { agent, callKey, until: performance.now() + REFUSAL_MS }].slice(
      -MAX_OF_ALL,
    );
  }

  /** Why the agent's call is refused without a question; null: a person may be asked. */
  reasonFor(agent: string, callKey: string): string | null {
    const current = this.currentRefusals();
    const ofAgent = current.filter((each) => each.agent === agent);
    const ofSameCall = ofAgent.find((each) => each.callKey === callKey);
    if (ofSameCall !== undefined)
      return `the person has just refused it and will not be asked again for ${this.remainingTime(ofSameCall)}`;
    const [oldest] = ofAgent.length >= MAX_OF_ONE ? ofAgent : current.length >= MAX_OF_ALL ? current : [];
    if (oldest === undefined) return null;
    const reason =
      ofAgent.length >= MAX_OF_ONE ? "the person has refused it often" : "the person has refused agents often";
    return `${reason} and will not be asked again for ${this.remainingTime(oldest)}`;
  }

  private currentRefusals(): Refusal[] {
    return this.refusals.filter(({ until }) => until > performance.now());
  }

  private remainingTime({ until }: Refusal): string {
    return plural(Math.max(1, Math.ceil((until - performance.now()) / MINUTE_MS)), "minute");
  }
}
