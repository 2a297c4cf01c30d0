/**
 * Decides whether a hook wants an event, and ensures that a server is running, which runs hooks: it starts a
 * missing one, and checks again a moment later, since a server may die before it reads the event. Nothing is awaited.
 */
import { HookFiles } from "../../events/hook-files.ts";
import { SetHooks } from "../../events/set-hooks.ts";
import type { Instance } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import { type EventConsumer, isWanted } from "../../protocol/event-consumers.ts";
import { hookMatches, type OwnedHook } from "../../protocol/hooks.ts";
import type { RecordedEvent } from "../../protocol/recorded-events.ts";
import { isServerAlive } from "../../registry/single-server.ts";

/** Time from an event to the second check, in ms: longer than a server takes to read it. */
const SECOND_CHECK_MS = 3_000;

interface HookWakerPort {
  readonly instance: Instance;
  readonly logger: Pick<Logger, "warn">;
  /** Current hooks and notices of the settings. */
  eventConsumers(): readonly EventConsumer[];
  /** Hooks given at the session's creation. */
  readonly sessionHooks: readonly OwnedHook[];
}

export class HookWaker {
  private serverStart: Promise<unknown> | null = null;
  private timer: Timer | null = null;
  private hasBegun = false;
  /** Hooks set at run time, for all sessions. */
  private readonly hooksSetAtRuntime: SetHooks;

  constructor(private readonly port: HookWakerPort) {
    this.hooksSetAtRuntime = new SetHooks(port.instance);
  }

  /** The session's own hooks that want an event; null: no hook wants it. */
  hooksFor(event: RecordedEvent): readonly OwnedHook[] | null {
    const matchingHooks = [...this.port.sessionHooks, ...this.hooksSetAtRuntime.hooks].filter((hook) =>
      hookMatches(hook, event),
    );
    return matchingHooks.length > 0 || this.port.eventConsumers().some((each) => isWanted(each, event))
      ? matchingHooks
      : null;
  }

  /** @param append writes an event that a hook wants */
  wake(append: () => void): void {
    if (!this.hasBegun) new HookFiles(this.port.instance).beginHere();
    this.hasBegun = true;
    append();
    this.ensureServer();
    if (this.timer !== null) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.ensureServer();
    }, SECOND_CHECK_MS);
    this.timer.unref();
  }

  /** Resolves when no server is being started. */
  async whenStarted(): Promise<void> {
    await this.serverStart;
  }

  private ensureServer(): void {
    const { instance, logger } = this.port;
    if (this.serverStart !== null || isServerAlive(instance)) return;
    this.serverStart = import("../../launch/server.ts")
      .then(({ startServer }) => startServer(instance))
      .catch((error: unknown) => logger.warn("hooks do not run: no server could be started", { error }))
      .finally(() => {
        this.serverStart = null;
      });
  }
}
