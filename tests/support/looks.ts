/** What `wsh screen` and `wsh list --json` print, without their processes: what is looked at until it is there. */
import { SessionClient } from "../../src/cli/session/client.ts";
import { asJson, findAll, isEnded } from "../../src/cli/session/listed.ts";
import type { Instance } from "../../src/instance/paths.ts";
import { parsePlace, parseTarget } from "../../src/protocol/names.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { visibleRendered } from "../../src/protocol/visible.ts";
import { processState } from "../../src/registry/liveness.ts";
import { findSession } from "../../src/registry/registry.ts";

/** @returns null where `wsh screen` itself has to say it: of other machines, of what is lost or is not there */
export async function readScreen(instance: Instance, name: string): Promise<string | null> {
  try {
    const { machine, target } = parsePlace(name);
    if (machine !== null || processState(findSession(instance, parseTarget(target)).socket) !== "alive") return null;
    using session = await SessionClient.open(instance, name);
    const { lines } = await session.call("screen.get", { format: "plain" });
    return `${lines.map((line) => visibleRendered(String(line).trimEnd())).join("\n")}\n`;
  } catch {
    return null; // The command says why.
  }
}

export async function readList(instance: Instance): Promise<SessionInfo[]> {
  const sessions = (await findAll(instance)).filter((one) => !isEnded(one));
  return JSON.parse(JSON.stringify(sessions.map(asJson)));
}
