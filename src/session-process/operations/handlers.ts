/** The session process's handler for every operation on its pane; a missing one does not compile. */

import { promptAgent } from "./agent-prompt.ts";
import { commandHandlers } from "./commands.ts";
import type { PaneHandlers } from "./context.ts";
import { awaitIdle } from "./idle.ts";
import { lineHandlers } from "./lines.ts";
import { signalName } from "./signals.ts";
import { terminalHandlers } from "./terminal.ts";

export const paneHandlers: PaneHandlers = {
  "session.signal": (pane, { signal }) => {
    const name = signalName(signal);
    pane.signal(name, "foreground");
    return { signal: name };
  },
  "agent.report": (pane, report) => {
    pane.requireRunning();
    return pane.agent.report(report);
  },
  "agent.prompt": promptAgent,
  "idle.await": (...call) => awaitIdle(...call).finally(() => call[0].lifetime.noteEndReported()),
  ...terminalHandlers,
  ...lineHandlers,
  ...commandHandlers,
};
