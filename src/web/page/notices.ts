/**
 * Notifies a person who is elsewhere of an agent that needs them, a question, the end of a long command in any pane, or
 * a program's own notification. Uses the browser's notifications, through the service worker if there is one, and only
 * while the page is open.
 */

import type { SessionInfo } from "../../protocol/session.ts";
import type { JournalEvent } from "./event-feed.ts";
import type { SessionUpdate } from "./sessions.ts";
import { settings } from "./settings.ts";

/** Time for which notices wait for the worker to begin, in ms; after that the page shows them itself. */
const WORKER_MS = 5_000;

export class Notices {
  private worker: ServiceWorkerRegistration | null = null;
  /** Settles when the worker has begun, cannot begin, or takes too long. */
  private readonly workerSettled: Promise<unknown>;
  /** Last reported state of its agent, by session id. */
  private readonly agentStates = new Map<string, string>();

  constructor(private readonly show: (session: string) => void) {
    this.workerSettled = this.register();
  }

  /** Whether the person gets notifications while elsewhere. */
  get isOn(): boolean {
    return settings.peek().notices && "Notification" in globalThis && Notification.permission === "granted";
  }

  /** Asks the browser; @returns whether notices will be shown */
  async allow(): Promise<boolean> {
    if (!("Notification" in globalThis)) return false;
    return (await Notification.requestPermission()) === "granted";
  }

  /** @param isLookedAt the session is visible to the person, who needs no notice */
  sessionUpdated(update: SessionUpdate, isLookedAt: boolean): void {
    this.notify(update.session, this.textOf(update), tagOf(update), isLookedAt);
  }

  /** A command has ended in a pane, or its program notifies. */
  eventHappened(event: JournalEvent, session: SessionInfo, isLookedAt: boolean): void {
    const tag = `${session.id} ${event.event} ${event.pane}`;
    this.notify(session, textOf(event), tag, isLookedAt);
  }

  private notify({ id, name }: SessionInfo, body: string | null, tag: string, isLookedAt: boolean): void {
    if (body !== null && !isLookedAt && this.isOn)
      void this.showNotification(id, `wsh: ${name}`, { body, tag, icon: "icon.svg", data: id });
  }

  private async showNotification(session: string, title: string, options: NotificationOptions): Promise<void> {
    await this.workerSettled;
    try {
      if (this.worker !== null) {
        await this.worker.showNotification(title, options);
        return;
      }
    } catch {
      // The worker was removed in the meantime: the page shows the notice itself.
    }
    try {
      const notice = new Notification(title, options);
      notice.addEventListener("click", () => {
        focus();
        this.show(session);
      });
    } catch {
      // Phones' browsers need a worker for notifications: the list and the tab's title show pending items instead.
    }
  }

  private textOf(update: SessionUpdate): string | null {
    switch (update.kind) {
      case "agent": {
        const { agent, id } = update.session;
        const before = this.agentStates.get(id);
        this.agentStates.set(id, agent?.state ?? "");
        if (agent === undefined || agent.state === before || agent.source === "program") return null;
        if (agent.state === "needs_input")
          return `${agent.name} needs you${agent.message === undefined ? "" : `: ${agent.message}`}`;
        return agent.state === "done" ? `${agent.name} is done` : null;
      }
      case "question":
        return `${update.question.asked_by} asks: ${update.question.question}`;
      default:
        return null;
    }
  }

  private async register(): Promise<void> {
    const container = navigator.serviceWorker;
    if (container === undefined || !globalThis.isSecureContext) return;
    const script = scriptAddress("sw.js");
    container.addEventListener("message", ({ data }) => {
      const session: unknown = Object(data).data;
      if (Object(data).type === "notice" && typeof session === "string") this.show(session);
    });
    try {
      // A value of the policy's type is passed where DOM's types require a string.
      await container.register(script as unknown as string);
    } catch {
      // A browser that allows no workers shows notices without one.
      return;
    }
    // A registered worker may not be active yet, and only an active one shows notifications.
    const ready = container.ready.then((registration) => {
      this.worker = registration;
    });
    await Promise.race([ready, new Promise((resolve) => setTimeout(resolve, WORKER_MS))]);
  }
}

function textOf({ event, text, command, duration_ms, exit_code }: JournalEvent): string | null {
  if (event === "notification") return text ?? "A program sent a notification";
  if ((duration_ms ?? 0) < settings.peek().noticeAfterS * 1000) return null;
  const how =
    exit_code === 0 ? "has ended" : exit_code == null ? "has ended (exit code unknown)" : `has failed (${exit_code})`;
  return `${command ?? "The command"} ${how}`;
}

/** A notice replaces one with the same tag; a question remains until it is answered, whichever others follow. */
function tagOf(what: SessionUpdate): string {
  const { session, kind } = what;
  return kind === "question" ? `${session.id} ${kind} ${what.question.ask_id}` : `${session.id} ${kind}`;
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): unknown };
}

/** The page's only Trusted Types policy: it admits only the worker's address. */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("wsh", {
  createScriptURL: (url) => {
    if (url !== "sw.js") throw new TypeError(`'${url}' is not a script of this page`);
    return url;
  },
});

function scriptAddress(url: string): unknown {
  return policy === undefined ? url : policy.createScriptURL(url);
}
