/** Connects hooks and notices to the server: its operations, its address, its key. */
import { HookFiles } from "../../events/hook-files.ts";
import { eventsDir } from "../../events/segments.ts";
import type { Call } from "../../operations/call.ts";
import { subjectOf } from "../../operations/routing.ts";
import { getOperation, type OperationName } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Notice } from "../../protocol/notices.ts";
import type { RecordedEvent } from "../../protocol/recorded-events.ts";
import { ensureNoticeKey } from "../../secrets/own-secrets.ts";
import type { GatewayOptions } from "../options.ts";
import { answerCode } from "./answer-addresses.ts";
import { deliver, type NoticeAction } from "./deliver.ts";
import { Hooks } from "./hooks.ts";

export function createHooks(options: GatewayOptions, call: Call, onIdle: () => void): Hooks {
  const { instance, logger, hooks, settings } = options;
  return new Hooks({
    instance,
    logger,
    onIdle,
    events: eventsDir(instance),
    files: new HookFiles(instance),
    consumers: () => hooks?.consumers() ?? [],
    isOpen: () => settings.notify_text === "full",
    notify: (notify, notice, event) => {
      const isOpen = settings.notify_text === "full";
      const actions = isOpen ? actionsOf(options, notice, event) : [];
      return deliver({ notify, notice, actions, event: isOpen ? event : null });
    },
    async operate(line, event, agent, signal) {
      if (hooks === undefined) throw new WshError("unknown_method", "this server carries out no lines");
      const { operation, input, target: session = subjectOf(operation, event) } = await hooks.call(line);
      const caller = { kind: "cli", id: "hook", name: "a hook", connected: true, ...defined({ agent }) } as const;
      return call(getOperation(operation as OperationName).name, input as never, {
        caller,
        access: "admin",
        signal,
        session,
      });
    },
  });
}

/** Buttons need an address at which others reach this server. */
function actionsOf(
  { instance, publicUrl, basePrefix }: GatewayOptions,
  { answers }: Notice,
  { session_id: session, ask_id: ask }: RecordedEvent,
): NoticeAction[] {
  if (publicUrl === undefined || ask === undefined || answers.length === 0) return [];
  const key = ensureNoticeKey(instance);
  const base = `${publicUrl.origin}${basePrefix}/notice`;
  return answers.map((answer) => ({
    label: answer === true ? "Yes" : answer === false ? "No" : answer,
    url: `${base}/${answerCode(key, { session, ask, answer })}`,
  }));
}
