/**
 * The tmux data that wsh itself does not have: options, environments, channels. One value per instance, changed under a
 * lock; data of a session, window or pane that is gone is removed at the next change.
 */
import * as v from "valibot";
import { timeText } from "../protocol/strftime.ts";

/** Messages that `show-messages` lists. */
const MOST_MESSAGES = 100;

const values = v.optional(v.record(v.string(), v.string()), {});
const valuesById = v.optional(v.record(v.string(), v.record(v.string(), v.string())), {});
const variable = v.object({ value: v.nullable(v.string()), hidden: v.optional(v.boolean(), false) });
const variables = v.record(v.string(), variable);

const boundKey = v.object({
  /** The words of each command. */
  commands: v.array(v.array(v.string())),
  note: v.optional(v.string()),
  repeat: v.optional(v.boolean(), false),
});
const boundTable = v.object({
  /** `unbind-key -a`: disables wsh's bindings of the table. */
  cleared: v.optional(v.boolean(), false),
  /** By wsh's name of the key; null: unbound. */
  keys: v.optional(v.record(v.string(), v.nullable(boundKey)), {}),
});
export type BoundKey = v.InferOutput<typeof boundKey>;
export type BoundTable = v.InferOutput<typeof boundTable>;

export const StateSchema = v.object({
  /** Values of options: of the server, global ones of sessions and windows, and those of single objects by id. */
  server: values,
  session: values,
  window: values,
  own: valuesById,
  environment: v.optional(variables, {}),
  environments: v.optional(v.record(v.string(), variables), {}),
  /** Respawned panes and moved windows keep the ids that tmux callers know: `@9` is shown as `@7`. */
  panes: values,
  /** Names that wsh does not accept: wsh's replacement, and the shown name. */
  names: v.optional(v.record(v.string(), v.object({ own: v.string(), shown: v.string() })), {}),
  /** Per window: the layout before the last command, and the last preset. */
  layouts: v.optional(v.record(v.string(), v.object({ before: v.string(), preset: v.optional(v.string()) })), {}),
  channels: v.optional(
    v.record(
      v.string(),
      v.object({ woken: v.boolean(), signals: v.number(), waiting: v.array(v.number()), locked: v.boolean() }),
    ),
    {},
  ),
  /** Panes whose output goes to a command: the process that carries the pipe. */
  pipes: v.optional(v.record(v.string(), v.number()), {}),
  /** Clients in control mode by name: their process, and the session that they show. */
  clients: v.optional(v.record(v.string(), v.object({ pid: v.number(), session: v.string(), flags: v.string() })), {}),
  /** The messages of `display-message`, oldest first, and people's answers to prompts by type. */
  messages: v.optional(v.array(v.string()), []),
  prompts: v.optional(v.record(v.string(), v.array(v.string())), {}),
  /** The window that a session showed before its last focus change; set while a hook handles that change. */
  shown: values,
  /** Hook commands that an AI agent has set; they run as the agent. By scope, hook and command. */
  hookAgents: values,
  /** By client: the session that `switch-client` has left last, and the one to which it has gone. */
  left: v.optional(v.record(v.string(), v.object({ from: v.string(), to: v.string() })), {}),
  marked: v.optional(v.nullable(v.string()), null),
  /** Changes by `bind-key` and `unbind-key`, by table. */
  tables: v.optional(v.record(v.string(), boundTable), {}),
});
export type State = v.InferOutput<typeof StateSchema>;

export function emptyState(): State {
  return v.parse(StateSchema, {});
}

/** Adds a message to those of `show-messages`. */
export function keepMessage(state: State, text: string): void {
  const message = `${timeText(new Date(), "%H:%M:%S")}: message: ${text}`;
  state.messages = [...state.messages, message].slice(-MOST_MESSAGES);
}

/** Removes the data of objects that no longer exist. */
export function prune(state: State, livingTargets: ReadonlySet<string>): void {
  for (const table of [
    state.own,
    state.environments,
    state.panes,
    state.names,
    state.pipes,
    state.layouts,
    state.shown,
  ])
    for (const id of Object.keys(table)) if (!livingTargets.has(id)) delete (table as Record<string, unknown>)[id];
  for (const key of Object.keys(state.hookAgents)) {
    const [scope = ""] = key.split(" ");
    if (scope.startsWith("@") && !livingTargets.has(scope)) delete state.hookAgents[key];
  }
  for (const [name, { session }] of Object.entries(state.clients))
    if (!livingTargets.has(session)) delete state.clients[name];
  for (const [name, { from, to }] of Object.entries(state.left))
    if (!livingTargets.has(from) || !livingTargets.has(to)) delete state.left[name];
  if (state.marked !== null && !livingTargets.has(state.marked)) state.marked = null;
}
