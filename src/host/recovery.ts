/**
 * A pane that belongs to a session watches the session's layout process, by the connection that it has with it. When
 * that process is lost, the oldest living pane of the session starts another, which reads the layout's file; the next
 * older one tries if it could not. The programs notice nothing.
 */
import * as v from "valibot";
import { startLayout } from "../instance/launch/layout.ts";
import type { Logger } from "../instance/log/log.ts";
import type { Instance } from "../instance/paths.ts";
import { hostSocket } from "../instance/paths.ts";
import { processState } from "../instance/registry/liveness.ts";
import { membersOf } from "../instance/registry/members.ts";
import { platform } from "../platform/platform.ts";
import type { Peer } from "../wire/peer.ts";
import type { Membership } from "./membership.ts";
import type { Promotion } from "./promotion.ts";
import type { Session } from "./session.ts";

/** Time that each older pane has to start a layout process before the next one tries, in ms. */
const TURN_MS = 500;
/** Longest time from a dying process's last connection to its lock, which the kernel closes one by one, in ms. */
const DEATH_MS = 1_000;
/** Interval between two looks, in ms. */
const DEATH_POLL_MS = 20;
/** How often a pane tries before it gives up: its program still runs, and can be reached by the pane's id. */
const TRIES = 3;
/** Interval between two looks at the restorer, and how long it is dead before the restore counts as cut off, in ms. */
const RESTORER_POLL_MS = 500;
const CUT_OFF_MS = 3_000;

const ServedSchema = v.object({
  socket: v.optional(v.string()),
  name: v.optional(v.string()),
  session: v.optional(v.number()),
  private: v.optional(v.boolean()),
});

export interface RecoveryPort {
  readonly session: Session;
  readonly instance: Instance;
  readonly id: number;
  readonly membership: Membership;
  readonly promotion: Promotion;
  readonly logger: Logger;
}

export class Recovery {
  private layout: Peer | null = null;
  private wasServed = false;

  constructor(private readonly port: RecoveryPort) {}

  /** The session's layout process says where it serves the session, and as what. */
  served(input: unknown, peer: Peer): object {
    const { socket, name, session: number, private: isPrivate } = v.parse(ServedSchema, input);
    const { session, membership, promotion } = this.port;
    if (number !== undefined) {
      membership.become(number);
      session.becameOf(number);
    }
    if (name !== undefined) session.renamedTo(name);
    if (isPrivate !== undefined && isPrivate !== session.isPrivate) {
      void session.update({ add_tags: [], remove_tags: [], private: isPrivate });
    }
    if (socket !== undefined) {
      promotion.servedAt(socket);
      this.wasServed = true;
      this.layout = peer;
      peer.onClosed = () => {
        if (this.layout !== peer) return;
        this.layout = null;
        void this.recover(socket);
      };
    }
    return {};
  }

  /**
   * Waits for the layout process of a session that is being restored. A restorer that was killed starts none: its panes
   * would belong to a session that can be neither reached nor restored.
   * @returns false when there will be none
   */
  async untilServed(restorer: number): Promise<boolean> {
    const { lifetime } = this.port.session;
    let deadFor = 0;
    while (!this.wasServed && !lifetime.isEnding && !lifetime.isOver) {
      if (deadFor >= CUT_OFF_MS) return false;
      await Bun.sleep(RESTORER_POLL_MS);
      const state = platform().processes.stat(restorer)?.state ?? "ended";
      deadFor = state !== "ended" ? 0 : deadFor + RESTORER_POLL_MS;
    }
    return true;
  }

  /** @param socket where the layout process served the session */
  private async recover(socket: string): Promise<void> {
    const { session, instance, id, membership, logger } = this.port;
    if (!(await hasDied(socket))) return;
    for (let turn = 0; turn < TRIES; turn++) {
      const { session: number } = membership;
      if (number === null || session.exit !== null || session.lifetime.isEnding || session.lifetime.isOver) return;
      const living = membersOf(instance, number).filter(
        (each) => each === id || processState(hostSocket(instance, each)) === "alive",
      );
      await Bun.sleep(Math.max(0, living.indexOf(id)) * TURN_MS);
      if (this.layout !== null || session.exit !== null) return;
      try {
        const spec = { socket: instance.httpSocket, env: {}, nofile: null, handed: null, session: number };
        await startLayout(instance, spec);
        logger.warn("the layout process was lost and has been started again");
        return;
      } catch (error) {
        if (this.layout !== null) return;
        logger.error("the layout process was lost and could not be started again", { error });
        await Bun.sleep(TURN_MS);
      }
    }
  }
}

/** False for a layout process that lets go of a pane because it has ended; the pane may run again by now. */
async function hasDied(socket: string): Promise<boolean> {
  const deadline = performance.now() + DEATH_MS;
  while (processState(socket) === "alive") {
    if (performance.now() > deadline) return false;
    await Bun.sleep(DEATH_POLL_MS);
  }
  return true;
}
