/**
 * What tmux keeps and wsh does not: options, environments, channels. One value for an instance,
 * changed under a lock; what belongs to a session, window or pane that is gone is left out at the next change.
 */
import * as v from "valibot";

const values = v.optional(v.record(v.string(), v.string()), {});
const each = v.optional(v.record(v.string(), v.record(v.string(), v.string())), {});
const variable = v.object({ value: v.nullable(v.string()), hidden: v.optional(v.boolean(), false) });
const variables = v.record(v.string(), variable);

const boundKey = v.object({
  /** The words of each command. */
  commands: v.array(v.array(v.string())),
  note: v.optional(v.string()),
  repeat: v.optional(v.boolean(), false),
});
const boundTable = v.object({
  /** `unbind-key -a`: what wsh binds in it does nothing. */
  cleared: v.optional(v.boolean(), false),
  /** By wsh's name of the key; null: unbound. */
  keys: v.optional(v.record(v.string(), v.nullable(boundKey)), {}),
});
export type BoundKey = v.InferOutput<typeof boundKey>;
export type BoundTable = v.InferOutput<typeof boundTable>;

export const StateSchema = v.object({
  /** Values of options: of the server, the global ones of sessions and of windows, and those of one each by its id. */
  server: values,
  session: values,
  window: values,
  own: each,
  environment: v.optional(variables, {}),
  environments: v.optional(v.record(v.string(), variables), {}),
  /** Respawned panes and windows in another session keep the ids that tmux's callers know: `@9` is shown as `@7`. */
  panes: values,
  /** Names that wsh does not take: what it has instead, and what is shown. */
  names: v.optional(v.record(v.string(), v.object({ own: v.string(), shown: v.string() })), {}),
  /** Of windows: the layout before the last command, and the preset that was chosen last. */
  layouts: v.optional(v.record(v.string(), v.object({ before: v.string(), preset: v.optional(v.string()) })), {}),
  channels: v.optional(
    v.record(
      v.string(),
      v.object({ woken: v.boolean(), signals: v.number(), waiting: v.array(v.number()), locked: v.boolean() }),
    ),
    {},
  ),
  /** Panes whose output goes to a command: the process that carries it. */
  pipes: v.optional(v.record(v.string(), v.number()), {}),
  /** Clients in control mode by name: their process, and the session that they show. */
  clients: v.optional(v.record(v.string(), v.object({ pid: v.number(), session: v.string(), flags: v.string() })), {}),
  /** What `display-message` has shown, oldest first, and what people answered to prompts of each type. */
  messages: v.optional(v.array(v.string()), []),
  prompts: v.optional(v.record(v.string(), v.array(v.string())), {}),
  /** The window that a session showed when its focus last changed; known while a hook is about that. */
  shown: values,
  /** Commands of hooks that an AI agent has set: they are run as the agent's. By scope, hook and command. */
  hookAgents: values,
  marked: v.optional(v.nullable(v.string()), null),
  /** What `bind-key` and `unbind-key` changed, by the table. */
  tables: v.optional(v.record(v.string(), boundTable), {}),
});
export type State = v.InferOutput<typeof StateSchema>;

export function emptyState(): State {
  return v.parse(StateSchema, {});
}

/** Leaves out what belongs to nothing that lives. */
export function prune(state: State, living: ReadonlySet<string>): void {
  for (const table of [
    state.own,
    state.environments,
    state.panes,
    state.names,
    state.pipes,
    state.layouts,
    state.shown,
  ])
    for (const id of Object.keys(table)) if (!living.has(id)) delete (table as Record<string, unknown>)[id];
  for (const key of Object.keys(state.hookAgents)) {
    const [scope = ""] = key.split(" ");
    if (scope.startsWith("@") && !living.has(scope)) delete state.hookAgents[key];
  }
  for (const [name, { session }] of Object.entries(state.clients)) if (!living.has(session)) delete state.clients[name];
  if (state.marked !== null && !living.has(state.marked)) state.marked = null;
}
