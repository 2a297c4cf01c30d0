/**
 * The session in which this process runs, according to its environment: in any instance, not only the requested one.
 */
import { type Instance, resolveInstance } from "../../instance/paths.ts";
import { GRANT_VARIABLE } from "../../protocol/grants.ts";
import { GRANTED_PANE } from "../grant/sandbox-client.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface PaneAround {
  readonly instance: Instance;
  /** `@1`: unique in its instance only. */
  readonly pane: string;
}

/** Returns null outside any session. */
export function paneAround(env: Environment): PaneAround | null {
  if (env[GRANT_VARIABLE]) return { instance: resolveInstance({ env }), pane: GRANTED_PANE };
  const { WSH_SOCKET: socket, WSH_PANE: pane = "" } = env;
  if (!socket || !/^@[1-9]\d{0,8}$/.test(pane)) return null;
  return { instance: resolveInstance({ flags: { socket }, env }), pane };
}
