/** What `wsh screen` and `wsh list --json` print, without their processes: what is looked at until it is there. */
import { SessionClient } from "../../src/cli/session/client.ts";
import { asJson, findAll, isEnded } from "../../src/cli/session/listed.ts";
import type { Instance } from "../../src/instance/paths.ts";
import { parsePlace, parseTarget } from "../../src/protocol/names.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { visibleRendered } from "../../src/protocol/visible.ts";
import { processState } from "../../src/registry/liveness.ts";
import { findSession } from "../../src/registry/registry.ts";

/** Looks at one session, again and again: as long as it answers, over one connection. */
export class ScreenLook implements Disposable {
  private session: SessionClient | null = null;

  constructor(
    private readonly instance: Instance,
    private readonly name: string,
  ) {}

  /** @returns null where `wsh screen` itself has to say it: of other machines, of what is lost or is not there */
  async read(): Promise<string | null> {
    try {
      this.session ??= await this.open();
      if (this.session === null) return null;
      const { lines } = await this.session.call("screen.get", { format: "plain" });
      return `${lines.map((line) => visibleRendered(String(line).trimEnd())).join("\n")}\n`;
    } catch {
      this[Symbol.dispose]();
      return null; // The command says why.
    }
  }

  private async open(): Promise<SessionClient | null> {
    const { machine, target } = parsePlace(this.name);
    if (machine !== null || processState(findSession(this.instance, parseTarget(target)).socket) !== "alive")
      return null;
    return SessionClient.open(this.instance, this.name);
  }

  [Symbol.dispose](): void {
    this.session?.[Symbol.dispose]();
    this.session = null;
  }
}

export async function readList(instance: Instance): Promise<SessionInfo[]> {
  const sessions = (await findAll(instance)).filter((one) => !isEnded(one));
  return JSON.parse(JSON.stringify(sessions.map(asJson)));
}
