/**
 * The session of this process becomes one of several panes: a layout process is started, takes over what belongs to the
 * session as a whole, and has the session's name from then on. Until it has taken over, nothing has changed here, and a
 * failure leaves everything as it was. Viewers are told where to go on; the program notices nothing.
 */
import * as v from "valibot";
import { startLayout } from "../instance/launch/layout.ts";
import type { LayoutSpec } from "../instance/launch/layout-spec.ts";
import type { Instance } from "../instance/paths.ts";
import type { SessionIds } from "../instance/registry/directories.ts";
import { WshError } from "../protocol/errors.ts";
import { Connection, type RequestContext } from "../wire/connection.ts";
import type { Membership } from "./membership.ts";
import { answersThere } from "./questions-there.ts";
import type { Session } from "./session.ts";

/** Requests of this process itself. */
const OWN_CONTEXT = {
  caller: { kind: "cli", id: `pane:${process.pid}`, connected: true },
  access: "admin",
} as const satisfies RequestContext;

const ReadySchema = v.looseObject({ socket: v.string() });

export interface PromotionPort {
  readonly session: Session;
  readonly instance: Instance;
  readonly ids: SessionIds;
  readonly membership: Membership;
  /** The environment of the session's programs, and their soft limit of open descriptors. */
  readonly env: Readonly<Record<string, string>>;
  readonly nofile: number | null;
  /** Tells those who watch or show the session where it is served now. */
  moved(socket: string): void;
}

export class Promotion {
  private running: Promise<string> | null = null;
  /** Socket of the layout process, once there is one. */
  private socket: string | null = null;
  private connection: Connection | null = null;

  constructor(private readonly port: PromotionPort) {}

  /** Starts the layout process of the session, once. @returns its socket @throws WshError session_create_failed */
  promote(): Promise<string> {
    this.running ??= this.take().catch((error) => {
      this.running = null;
      throw error;
    });
    return this.running;
  }

  /** The process is a pane from the start, or its layout process is another one now. */
  servedAt(socket: string): void {
    if (socket === this.socket) return;
    this.socket = socket;
    this.running = Promise.resolve(socket);
    // What is asked there already is answered there: the other end closes it with its session.
    this.connection = null;
  }

  /** Resolves when no promotion is under way. */
  async settled(): Promise<void> {
    if (this.socket === null) await this.running?.catch(() => {});
  }

  /** Passes a request on to the layout process. @throws what it answered */
  async forward(op: string, input: unknown, context: RequestContext): Promise<unknown> {
    const socket = await this.promote();
    if (this.connection === null || this.connection.isClosed) {
      this.connection = (await Connection.open(socket, "host")).connection;
    }
    return this.connection.request(op, input, context);
  }

  private async take(): Promise<string> {
    const { session, ids, membership } = this.port;
    if (membership.isMember) {
      if (this.socket !== null) return this.socket;
      throw new WshError("host_unavailable", "the layout process of the session is being started again");
    }
    session.requireRunning();
    session.isHandingOver = true;
    try {
      const { socket } = v.parse(ReadySchema, await this.launch());
      membership.become(ids.session);
      this.socket = socket;
      session.becomePane();
      session.questions.movedTo(answersThere(this, OWN_CONTEXT));
      this.port.moved(socket);
      for (const viewer of session.viewers.all) if (!viewer.composed) viewer.move(socket);
      return socket;
    } catch (error) {
      session.questions.resume();
      throw error;
    } finally {
      session.isHandingOver = false;
      session.taken.resume();
    }
  }

  private launch(): Promise<unknown> {
    const { session, instance, ids, env, nofile } = this.port;
    const spec: LayoutSpec = {
      socket: instance.httpSocket,
      env: { ...env, ...session.viewers.environment },
      nofile,
      session: ids.session,
      handed: {
        session: ids.session,
        name: session.name,
        tags: [...session.tags],
        private: session.isPrivate,
        created_at: session.createdAt,
        ...session.size,
        window: ids.window,
        pane: ids.id,
        ...(session.startedWith === undefined ? {} : { pane_env: session.startedWith }),
        drawing: session.elements.handOver(),
        keyboard: session.keyboard.handOver(),
        buffers: session.buffers.handOver(),
        questions: session.questions.handOver(),
        taken: session.taken.handOver(),
      },
    };
    return startLayout(instance, spec);
  }
}
