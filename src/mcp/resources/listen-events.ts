/**
 * Events for `subscriptions/listen` over HTTP: the SDK forwards to each stream its requested events. A resource is
 * watched while a stream that names it is open, the list of sessions while any stream is.
 */
import { CLIENT_INFO_META_KEY, InMemoryServerEventBus } from "@modelcontextprotocol/server";
import * as v from "valibot";
import type { Caller } from "../../protocol/caller.ts";
import type { Changes } from "./changes.ts";

export class EventTap {
  readonly bus = new InMemoryServerEventBus();
  private readonly watched = new Map<string, { userCount: number; watch: Disposable }>();
  private listenCount = 0;
  private sessions: Disposable | null = null;

  /** @param caller the listeners' rights */
  constructor(
    private readonly changes: Changes,
    private readonly caller: Caller,
  ) {}

  get isIdle(): boolean {
    return this.listenCount === 0;
  }

  /** One stream's subscriptions; dispose when it ends. */
  watch(uris: readonly string[]): Disposable {
    this.listenCount++;
    this.sessions ??= this.changes.onSessions(
      () => this.bus.publish({ kind: "resources_list_changed" }),
      this.caller.only,
    );
    for (const uri of uris) this.watchUri(uri);
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        for (const uri of uris) this.release(uri);
        if (--this.listenCount > 0) return;
        this.sessions?.[Symbol.dispose]();
        this.sessions = null;
      },
    };
  }

  private watchUri(uri: string): void {
    const existing = this.watched.get(uri);
    if (existing !== undefined) {
      existing.userCount++;
      return;
    }
    const publish = () => void this.bus.publish({ kind: "resource_updated", uri });
    const watch = this.changes.onResource(uri, publish, this.caller);
    this.watched.set(uri, { userCount: 1, watch });
  }

  private release(uri: string): void {
    const watched = this.watched.get(uri);
    if (watched === undefined || --watched.userCount > 0) return;
    this.watched.delete(uri);
    watched.watch[Symbol.dispose]();
  }
}

/** The resources that the parameters of `subscriptions/listen` name. */
export function listenedResources(params: unknown): string[] {
  const filter = v.safeParse(
    v.object({ notifications: v.object({ resourceSubscriptions: v.optional(v.array(v.string()), []) }) }),
    params,
  );
  return filter.success ? [...new Set(filter.output.notifications.resourceSubscriptions)] : [];
}

const StatedSchema = v.object({ _meta: v.object({ [CLIENT_INFO_META_KEY]: v.object({ name: v.string() }) }) });

/** The client's name in a request of the era without sessions. */
export function statedName(params: unknown): string | undefined {
  const stated = v.safeParse(StatedSchema, params);
  return stated.success ? stated.output._meta[CLIENT_INFO_META_KEY].name : undefined;
}
