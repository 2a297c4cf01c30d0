/**
 * The service worker: shows notifications on behalf of the page, and brings the page to the front when the person
 * chooses one. It caches nothing, so that the next load shows a new version of wsh.
 */
interface NoticeEvent extends Event {
  readonly notification: Notification;
  waitUntil(promise: Promise<unknown>): void;
}
interface Client {
  focus(): Promise<unknown>;
  postMessage(message: unknown): void;
}
interface Worker {
  addEventListener(type: string, listener: (event: NoticeEvent) => void): void;
  skipWaiting(): Promise<void>;
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<Client[]>;
    openWindow(url: string): Promise<unknown>;
  };
}

/** TypeScript's DOM types describe a page; these are the worker's own. */
const worker = globalThis as unknown as Worker;

worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(bringForward(event.notification.data));
});

async function bringForward(data: unknown): Promise<void> {
  const [page] = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (page === undefined) {
    await worker.clients.openWindow("./");
    return;
  }
  await page.focus();
  page.postMessage({ type: "notice", data });
}

export {};
