/** A session as in lists, for tests of functions that use it. */
import type { SessionInfo } from "../../src/protocol/session.ts";

export function sessionInfo(given: Partial<SessionInfo> = {}): SessionInfo {
  return {
    ...{ id: "@s3", pane_id: "@7", name: "dev", server: "there", pid: 12, command: "bash", rows: 24, cols: 80 },
    ...{ clients: 0, attached: 0, tags: ["a"], last_activity_ms: 40, idle_ms: 40, running: true, state: "prompt" },
    ...{ cwd: "/", title: 'a "title", "idle_ms":7}', exit_code: null, signal: null, created_at: 1, windows: [] },
    ...given,
  };
}
