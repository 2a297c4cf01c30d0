/** The settings that a session itself needs, whatever process serves it. */
import type { Settings } from "../instance/settings/table.ts";
import type { SessionSettings } from "../session/types.ts";

export function sessionSettings(settings: Settings): SessionSettings {
  return {
    graceMs: settings.grace_seconds * 1000,
    execGraceMs: settings.exec_grace_seconds * 1000,
    sizePolicy: settings.size_policy,
    elements: {
      overlays: settings.max_overlays,
      panels: settings.max_panels,
      pieces: settings.max_spans,
      pieceBytes: settings.max_span_bytes,
    },
  };
}
