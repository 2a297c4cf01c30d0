/** Notices for the person's terminals at other sessions. */
import { expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { prepareRuntimeDir, resolveInstance } from "../../../src/instance/paths.ts";
import { NotifySchema } from "../../../src/protocol/notices.ts";
import type { RecordedEvent } from "../../../src/protocol/recorded-events.ts";
import { TerminalNotices } from "../../../src/session-process/events/terminal-notices.ts";

test("a runtime directory that cannot be used fails no notice of the session itself, and each failure is logged", () => {
  const dir = mkdtempSync(join(tmpdir(), "wsh-notices-"));
  try {
    const instance = resolveInstance({ env: { XDG_RUNTIME_DIR: dir, XDG_STATE_HOME: dir, HOME: dir } });
    prepareRuntimeDir(instance);
    chmodSync(instance.runtimeDir, 0o755);
    const notify = v.parse(NotifySchema, { way: "terminals", a_minute: 600 });
    const warnings: string[] = [];
    const shown: string[] = [];
    const viewer = {
      focus: { looksAt: () => false },
      notifications: { notifies: "bell", shows: [] },
      alert: (text: string) => shown.push(text),
    };
    const notices = new TerminalNotices({
      instance,
      logger: { warn: (message) => void warnings.push(message) },
      session: { id: "@s1", viewers: { all: [viewer] } } as never,
      settings: { alert: "off", alert_for: [], agent_alert: "off", notify_text: "full" } as never,
      notices: () => [notify],
    });
    const event = { event: "notification", text: "done", session: "s", pane: "@1", tags: [], at: 0 };
    // More than are ever on their way at once.
    for (let count = 0; count < 40; count++) notices.handleEvent(event as unknown as RecordedEvent);
    expect([shown.length, warnings.length]).toEqual([40, 40]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
