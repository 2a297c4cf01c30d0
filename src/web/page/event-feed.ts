/**
 * Events for notices, of every pane of every session: read from each machine's journal, from the cursor of the last
 * answer on, so that none is missed while the page is not connected.
 */
import { defined } from "../../protocol/defined.ts";
import type { EventsPage } from "../../protocol/recorded-events.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import type { ControlSocket } from "../connection/control-socket.ts";
import { Refusal } from "../connection/server.ts";
import { sessions } from "./sessions.ts";

/** Longest wait of one request, in ms: shorter than proxies allow. */
const WAIT_MS = 25_000;
/** Time before a machine that did not answer is asked again, in ms. */
const RETRY_MS = 5_000;

export type JournalEvent = EventsPage["events"][number];

export class EventFeed {
  /** Cursors, by machine; this machine's is undefined. */
  private readonly cursors = new Map<string | undefined, string>();
  private readonly followedMachines = new Set<string | undefined>();

  constructor(
    private readonly control: Pick<ControlSocket, "call">,
    private readonly onEvent: (event: JournalEvent, session: SessionInfo) => void,
    private readonly retryMs = RETRY_MS,
  ) {
    sessions.subscribe((listed) => {
      for (const { id } of listed) void this.follow(machineOf(id));
    });
  }

  /** One loop for each machine that has sessions in the list. */
  private async follow(server: string | undefined): Promise<void> {
    if (this.followedMachines.has(server)) return;
    this.followedMachines.add(server);
    for (;;) {
      try {
        const since = this.cursors.get(server) ?? "now";
        const wait_ms = this.cursors.has(server) ? WAIT_MS : 0;
        const wanted = { since, wait_ms, type: ["command_finished", "notification"], ...defined({ server }) };
        const { events, cursor } = await this.control.call<EventsPage>("read_events", wanted);
        this.cursors.set(server, cursor);
        for (const event of events) this.deliver(event, server);
      } catch (thrown) {
        if (!(thrown instanceof Refusal)) throw thrown;
        // The machine was forgotten: it is followed again once it has sessions in the list.
        if (server !== undefined && !sessions.peek().some(({ id }) => machineOf(id) === server)) break;
        await new Promise((resolve) => setTimeout(resolve, this.retryMs));
      }
    }
    this.followedMachines.delete(server);
  }

  private deliver(event: JournalEvent, server: string | undefined): void {
    const ids = [event.session_id, `${server}/${event.session_id}`];
    const session = sessions.peek().find(({ id }) => ids.includes(id) && machineOf(id) === server);
    if (session !== undefined) this.onEvent(event, session);
  }
}

function machineOf(id: string): string | undefined {
  return id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : undefined;
}
