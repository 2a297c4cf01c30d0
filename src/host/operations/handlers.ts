/** The session process's handler for every operation, by scope; a missing one does not compile. */

import { commandHandlers } from "./commands.ts";
import type { PaneHandlers, SessionHandlers } from "./context.ts";
import { elementHandlers } from "./drawing.ts";
import { awaitIdle } from "./idle.ts";
import { signalName } from "./signals.ts";
import { terminalHandlers } from "./terminal.ts";

export const sessionHandlers: SessionHandlers = {
  "session.get": (session) => session.info(),
  "session.update": async (session, input) => {
    await session.update(input);
    return session.info();
  },
  "session.kill": async (session, { reason }) => {
    await session.lifetime.kill(reason);
    return {};
  },
  "session.detach": (session) => ({ detached: session.detachAll() }),
  "session.resize": async (session, { force, ...size }) => {
    session.requireRunning();
    await session.setSize(size, force);
    return { ...session.size };
  },
  "session.restart": async (session) => {
    await session.lifetime.restart();
    return session.info();
  },
  ...elementHandlers,
};

export const paneHandlers: PaneHandlers = {
  "session.signal": (pane, { signal }) => {
    const name = signalName(signal);
    pane.signal(name, "foreground");
    return { signal: name };
  },
  "idle.await": (...call) => awaitIdle(...call).finally(() => call[0].lifetime.endTold()),
  ...terminalHandlers,
  ...commandHandlers,
};
