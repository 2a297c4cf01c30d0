/**
 * Conditions as words of the command line: a name, `text=ready`, `regex=^ok`, `idle=2` (seconds),
 * `agent=done`, `port=3000`.
 */
import { type AgentState, agentStates } from "../protocol/agent.ts";
import { type ConditionInput, simpleConditions } from "../protocol/conditions.ts";
import { seconds, UsageError, wholeNumber } from "./arguments.ts";

const port = wholeNumber(1);

/** @throws UsageError */
export function agentState(text: string): AgentState {
  const agent = agentStates.find((state) => state === text);
  if (agent === undefined)
    throw new UsageError(`'${text}' is not a state of an agent`, `States are ${agentStates.join(", ")}.`);
  return agent;
}

/** @throws UsageError */
export function conditionOf(word: string): ConditionInput {
  const simple = simpleConditions.find((condition) => condition === word);
  if (simple !== undefined) return simple;
  const equals = word.indexOf("=");
  const value = word.slice(equals + 1);
  switch (equals < 0 ? "" : word.slice(0, equals)) {
    case "text":
      return { type: "text", text: value };
    case "regex":
      return { type: "regex", pattern: value };
    case "idle":
      return { type: "idle", ms: seconds(value) };
    case "agent":
      return { type: "agent", state: agentState(value) };
    case "port":
      return { type: "port", ...(value === "free" ? {} : { port: port(value) }) };
    case "any-port":
      return { type: "port", port: port(value), any_owner: true };
  }
  throw new UsageError(
    `'${word}' is not a condition`,
    `Conditions are ${simpleConditions.join(", ")}, text=TEXT, regex=PATTERN, idle=SECONDS, agent=STATE, port=PORT and any-port=PORT.`,
  );
}

export function collectCondition(word: string, before: readonly ConditionInput[] = []): readonly ConditionInput[] {
  return [...before, conditionOf(word)];
}
