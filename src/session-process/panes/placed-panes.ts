/**
 * The panes of the session's windows by id. Owns the newest terminal's report of itself: every pane learns it, also one
 * that is placed later.
 */
import type { TerminalColors } from "../../protocol/attach.ts";
import type { PlacedPane } from "./placed-pane.ts";

export class PlacedPanes extends Map<string, PlacedPane> {
  private colors: TerminalColors | null = null;

  override set(id: string, pane: PlacedPane): this {
    super.set(id, pane);
    if (this.colors !== null) pane.learnColors(this.colors);
    return this;
  }

  learnColors(colors: TerminalColors): void {
    this.colors = colors;
    for (const pane of this.values()) pane.learnColors(colors);
  }
}
