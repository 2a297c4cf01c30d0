/** Settings that a session needs, whichever process serves it; their values are current at every read. */

import type { SessionSettings } from "../session/types.ts";
import type { Settings } from "../settings/table.ts";

export function sessionSettings(settings: Settings): SessionSettings {
  return {
    get graceMs() {
      return settings.grace_seconds * 1000;
    },
    get execGraceMs() {
      return settings.exec_grace_seconds * 1000;
    },
    get sizePolicy() {
      return settings.size_policy;
    },
    elements: {
      get overlays() {
        return settings.max_overlays;
      },
      get panels() {
        return settings.max_panels;
      },
      get pieces() {
        return settings.max_spans;
      },
      get pieceBytes() {
        return settings.max_span_bytes;
      },
    },
  };
}
