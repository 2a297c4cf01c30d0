/**
 * Events for `subscriptions/listen` over HTTP: the SDK forwards to each stream its requested events. A resource is
 * watched while a stream that names it is open, the list of sessions while any stream is.
 */
import { InMemoryServerEventBus } from "@modelcontextprotocol/server";
import * as v from "valibot";
import type { Changes } from "./changes.ts";

export class EventTap {
  readonly bus = new InMemoryServerEventBus();
  private readonly watched = new Map<string, { users: number; watch: Disposable }>();
  private listens = 0;
  private sessions: Disposable | null = null;

  /** @param only id of the only session that the listeners may see */
  constructor(
    private readonly changes: Changes,
    private readonly only?: string,
  ) {}

  /** One stream's subscriptions; dispose when it ends. */
  watch(uris: readonly string[]): Disposable {
    this.listens++;
    this.sessions ??= this.changes.onSessions(() => this.bus.publish({ kind: "resources_list_changed" }), this.only);
    for (const uri of uris) this.use(uri);
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (!isOpen) return;
        isOpen = false;
        for (const uri of uris) this.release(uri);
        if (--this.listens > 0) return;
        this.sessions?.[Symbol.dispose]();
        this.sessions = null;
      },
    };
  }

  private use(uri: string): void {
    const existing = this.watched.get(uri);
    if (existing !== undefined) {
      existing.users++;
      return;
    }
    const publish = () => void this.bus.publish({ kind: "resource_updated", uri });
    const watch = this.changes.onResource(uri, publish, this.only);
    this.watched.set(uri, { users: 1, watch });
  }

  private release(uri: string): void {
    const watched = this.watched.get(uri);
    if (watched === undefined || --watched.users > 0) return;
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
