/**
 * Alerts the attached terminals of events in panes, according to `alert` and `alert_for`: once until the person
 * has visited the pane, and not at terminals that show it.
 */
import { type AlertMode, attentionFor, type NewsKind } from "../../protocol/attention.ts";
import type { Viewer } from "../../session/viewers.ts";

interface AttentionPort {
  alertMode(): AlertMode;
  isEnabled(kind: NewsKind): boolean;
  name(): string;
  viewers(): readonly Viewer[];
}

export class Attention {
  /** Time at which the terminals were notified, by pane and kind of event. */
  private readonly notifiedAt = new Map<string, number>();

  constructor(private readonly port: AttentionPort) {}

  /** @param text describes the event */
  notify(kind: NewsKind, pane: string, text: string): void {
    const { name } = this.port;
    const mode = this.port.alertMode();
    if (mode === "off" || !this.port.isEnabled(kind)) return;
    const viewers = this.port.viewers();
    const key = `${kind} ${pane}`;
    this.forgetSeen();
    if (this.notifiedAt.has(key)) return;
    // A bell of a shown pane already rings at that terminal.
    const unaware = viewers.filter(({ focus }) => !focus.looksAt(pane) && !(kind === "bell" && focus.ringsFor(pane)));
    if (unaware.length === 0) return;
    this.notifiedAt.set(key, performance.now());
    for (const viewer of unaware) viewer.alert(attentionFor(mode, name(), text));
  }

  /** Forgets events that people have seen, and panes that are not in `panes`. */
  forgetSeen(panes?: ReadonlySet<string>): void {
    for (const [key, when] of this.notifiedAt) {
      const pane = key.slice(key.indexOf(" ") + 1);
      const isSeen = this.port.viewers().some(({ focus }) => focus.lastSeenAt(pane) > when);
      if (isSeen || panes?.has(pane) === false) this.notifiedAt.delete(key);
    }
  }
}
