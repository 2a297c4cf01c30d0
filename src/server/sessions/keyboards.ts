/**
 * Releases captured keyboards at the end of their caller's connection, or of the token that admitted the caller.
 * A session process knows neither and is notified. A session's keyboard has one holder: only the newest counts.
 */
import type { CallContext } from "../../operations/call.ts";
import { CONTEXT, type SessionProxy } from "./session-proxy.ts";

interface KeyboardHolder extends Disposable {
  readonly caller: string;
}

export class CapturedKeyboards {
  private readonly holders = new Map<SessionProxy, KeyboardHolder>();

  recordCapture({ caller: { id, connected }, signal, ended }: CallContext, proxy: SessionProxy): void {
    this.release(proxy);
    for (const other of this.holders.keys()) if (other.connection === null) this.release(other);
    if (!connected && ended === undefined) return;
    const releaseCaptures = (): void => this.callerGone(id);
    ended?.addEventListener("abort", releaseCaptures, { once: true });
    this.holders.set(proxy, {
      caller: id,
      [Symbol.dispose]: () => ended?.removeEventListener("abort", releaseCaptures),
    });
    // The caller disconnected before its answer arrived.
    if (ended?.aborted === true || (connected && signal.aborted)) releaseCaptures();
  }

  /** A caller's connection or token has ended: releases its captures. */
  callerGone(caller: string): void {
    for (const [proxy, holder] of this.holders) {
      if (holder.caller !== caller) continue;
      this.release(proxy);
      proxy.connection?.request("peer.caller_gone", { id: caller }, CONTEXT).catch(() => {});
    }
  }

  private release(proxy: SessionProxy): void {
    this.holders.get(proxy)?.[Symbol.dispose]();
    this.holders.delete(proxy);
  }
}
