/** A gateway's options: from the command line, the settings and, for the rest, the caller of `runServer`. */

import type { McpEndpointOptions } from "../mcp/endpoint.ts";
import type { Attach } from "../protocol/attach.ts";
import type { EventConsumer } from "../protocol/event-consumers.ts";
import type { ViewMessage } from "../protocol/view.ts";
import type { ServerInfo } from "../registry/server-info.ts";
import type { Settings } from "../settings/table.ts";
import type { AccessOptions } from "./auth/access.ts";
import type { FleetFile } from "./fleet/membership.ts";
import type { TlsFiles } from "./http/tls-files.ts";

/** Keys of the person at a terminal in a page, according to their settings. */
export interface ViewKeys
  extends Pick<Attach, "prefix" | "bindings" | "mode_keys" | "repeat_ms" | "escape_ms" | "key_help_ms"> {
  /** The part that the page itself shows. */
  readonly pageKeys?: Omit<Extract<ViewMessage, { type: "keys" }>, "type">;
}

interface HookCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly target?: string | undefined;
}

export interface GatewayOptions extends AccessOptions {
  /** Given on the command line; otherwise the choice saved by an earlier run takes precedence over the default. */
  readonly ephemeral: boolean;
  readonly basePrefix: string;
  readonly tls: TlsFiles | null;
  /** Limits, times, the audit log. A value with its own field in these options is read from that field. */
  readonly settings: Settings;
  /** Absent: the defaults. */
  readonly viewKeys?: (isTolerant: boolean) => Promise<ViewKeys>;
  readonly mcp?: Pick<McpEndpointOptions, "maxWaitMs" | "progressMs" | "idleMs" | "maxSessions" | "extend">;
  /** Location of its credentials for a fleet, if it has any. */
  readonly fleet: FleetFile;
  /** Hooks of the settings; absent: only those of sessions. */
  readonly hooks?: {
    /** Current hooks and notices of the settings. */
    consumers(): readonly EventConsumer[];
    /** The operation in a hook's line. @throws WshError invalid_request, unknown_method */
    call(line: string): Promise<HookCall>;
  };
  /** Called once, when the server answers. */
  readonly ready: (info: ServerInfo) => void;
}
