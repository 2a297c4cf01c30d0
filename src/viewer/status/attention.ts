/**
 * Forwards events in panes to the attached terminals, according to `alert` and `alert_for`: once, until the person has
 * visited the pane, and not to terminals that show that pane.
 */
import { type AlertMode, attentionFor, type NewsKind } from "../../protocol/attention.ts";
import type { Viewer } from "../../session/viewers.ts";

interface AttentionPort {
  alertMode(): AlertMode;
  isMeant(kind: NewsKind): boolean;
  name(): string;
  viewers(): readonly Viewer[];
}

export class Attention {
  /** Time at which the terminals were notified, by pane and kind of event. */
  private readonly alerted = new Map<string, number>();

  constructor(private readonly port: AttentionPort) {}

  /** @param text describes the event */
  happened(kind: NewsKind, pane: string, text: string): void {
    const { name } = this.port;
    const way = this.port.alertMode();
    if (way === "off" || !this.port.isMeant(kind)) return;
    const viewers = this.port.viewers();
    const key = `${kind} ${pane}`;
    this.forgetSeen();
    if (this.alerted.has(key)) return;
    // A bell of a shown pane already rings at that terminal.
    const away = viewers.filter(({ focus }) => !focus.looksAt(pane) && !(kind === "bell" && focus.ringsFor(pane)));
    if (away.length === 0) return;
    this.alerted.set(key, performance.now());
    for (const viewer of away) viewer.alert(attentionFor(way, name(), text));
  }

  /** Forgets events that people have seen, and panes that are not in `panes`. */
  forgetSeen(panes?: ReadonlySet<string>): void {
    for (const [key, when] of this.alerted) {
      const pane = key.slice(key.indexOf(" ") + 1);
      const isSeen = this.port.viewers().some(({ focus }) => focus.lastSeenAt(pane) > when);
      if (isSeen || panes?.has(pane) === false) this.alerted.delete(key);
    }
  }
}
