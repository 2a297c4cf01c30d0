/**
 * Captured keyboards that end with their caller: with its connection, or with the token that admitted it. A session
 * process knows neither and is notified. A session's keyboard has one holder: only the newest counts.
 */
import type { CallContext } from "../../operations/call.ts";
import { CONTEXT, type Host } from "./session-host.ts";

interface Holder extends Disposable {
  readonly caller: string;
}

export class CapturedKeyboards {
  private readonly holders = new Map<Host, Holder>();

  /** The caller has captured the session's keyboard. */
  captured({ caller: { id, connected }, signal, ended }: CallContext, host: Host): void {
    this.release(host);
    for (const known of this.holders.keys()) if (known.connection === null) this.release(known);
    if (!connected && ended === undefined) return;
    const gone = (): void => this.callerGone(id);
    ended?.addEventListener("abort", gone, { once: true });
    this.holders.set(host, { caller: id, [Symbol.dispose]: () => ended?.removeEventListener("abort", gone) });
    // The caller has gone before its answer came.
    if (ended?.aborted === true || (connected && signal.aborted)) gone();
  }

  /** A caller's connection or token has ended: releases its captures. */
  callerGone(caller: string): void {
    for (const [host, holder] of this.holders) {
      if (holder.caller !== caller) continue;
      this.release(host);
      host.connection?.request("host.caller_gone", { id: caller }, CONTEXT).catch(() => {});
    }
  }

  private release(host: Host): void {
    this.holders.get(host)?.[Symbol.dispose]();
    this.holders.delete(host);
  }
}
