/**
 * Reports changes of windows and panes, after the picture that shows them: checking the programs and writing to
 * the readers takes as long as starting a shell (measured). Invariants: changes made by a call are reported
 * before its answer, and each change before the next one, even if that undoes it.
 */
import { layoutChanges } from "../../protocol/layout-events.ts";
import type { WindowInfo } from "../../protocol/session.ts";
import type { Session } from "../../session/session.ts";
import type { Arrangement } from "../panes/arrangement.ts";
import type { SessionContent } from "../panes/session-content.ts";

interface LayoutReportPort {
  readonly session: Session<SessionContent>;
  readonly arrangement: Arrangement;
  readonly content: SessionContent;
}

export class LayoutReport {
  /** Windows and panes as last reported. */
  private reportedWindows: readonly WindowInfo[];
  /** Whether positions may have changed since. */
  private isDue = false;

  constructor(private readonly port: LayoutReportPort) {
    const { events } = port.arrangement;
    this.reportedWindows = port.content.windows();
    events.on("positionsChanged", () => {
      this.isDue = true;
    });
    events.on("settled", () => this.reportChanges(false));
    for (const change of ["changing", "allEnded"] as const) events.on(change, () => this.flush());
    events.on("paneEnded", ({ pane, exit, isKept }) => {
      this.flush();
      port.session.events.emit("layout", {
        event: "pane_exited",
        pane,
        exit_code: exit.code,
        signal: exit.signal,
        kept: isKept,
      });
    });
  }

  /** Reports what is due. */
  flush(): void {
    if (this.isDue) this.reportChanges(true);
  }

  /** @param useCached skip checking every program */
  private reportChanges(useCached: boolean): void {
    const { session, arrangement, content } = this.port;
    this.isDue = false;
    if (!arrangement.isSplit) return;
    const before = this.reportedWindows;
    this.reportedWindows = content.windows(useCached);
    for (const event of layoutChanges(before, this.reportedWindows)) session.events.emit("layout", event);
  }
}
