/**
 * The link to a machine of the fleet: operations as requests, sockets of session processes as streams, both over this
 * process's one connection to the NATS servers. Heartbeats show whether the machine is present before anything is sent,
 * and each message addresses only one of its incarnations: of two machines under one name at most one executes it.
 */
import { getOperation, type OperationInput, type OperationName, type OperationOutput } from "../../operations/table.ts";
import { type Access, accessCovers } from "../../protocol/caller.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { headerNames } from "../../protocol/fleet-messages.ts";
import { requestSubject, serviceSubject } from "../../protocol/fleet-subjects.ts";
import type { DialedProcess, LinkHello } from "../../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { VERSION } from "../../protocol/version.ts";
import type { Dial } from "../../wire/connection.ts";
import type { Carrier, WireEvents } from "../../wire/socket.ts";
import type { Link, LinkCallOptions, LinkEvents, LinkState, LinkStep } from "../link.ts";
import { type CallTransport, type CarriedCall, callOverTransport } from "../link-call.ts";
import { ConnectionLost } from "../repeated-request.ts";
import { isWait } from "../repeated-wait.ts";
import { openStreamOver } from "../stream.ts";
import type { FleetIdentity } from "./connection.ts";
import { listenTo } from "./fleet-events.ts";
import type { Members } from "./members.ts";
import { type StreamParts, streamPipe } from "./stream-pipe.ts";

/** Longest wait for a machine to show that it is present, in ms. */
const PROBE_MS = 1_500;
/**
 * Silence after which an incarnation counts as gone while all incarnations of that name are asked every second, in ms.
 */
const HEARD_MS = 2_500;
/** Shortest interval between two checks that an awaited machine still receives, in ms. */
const PROBE_AGAIN_MS = 900;
/** Time in which a living incarnation answers after all were asked, in ms. */
const BOOTS_MS = 500;

interface NatsLinkParts extends StreamParts {
  readonly members: Members;
}

export class NatsLink implements Link, CallTransport {
  private probedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly machine: string,
    private readonly parts: NatsLinkParts,
  ) {}

  get state(): LinkState {
    return this.stateAt(this.parts.members.now);
  }

  /** @param now the members' time: lists ask about thousands of machines at one moment */
  stateAt(now: number): LinkState {
    const { members, connection } = this.parts;
    const health = members.healthOf(this.machine, now);
    return {
      health,
      hello: helloOf(members, this.machine, now),
      answeredAt: members.heardAt(this.machine),
      error: health === "healthy" ? null : troubleOf(this.machine, health, connection.error).message,
    };
  }

  async hello(): Promise<LinkHello> {
    await this.ready();
    const hello = helloOf(this.parts.members, this.machine);
    if (hello === null) throw troubleOf(this.machine, "unreachable", null);
    return hello;
  }

  async call<N extends OperationName>(
    name: N,
    input: OperationInput<N>,
    options: LinkCallOptions,
  ): Promise<OperationOutput<N>> {
    const { identity } = this.parts.connection;
    const { access } = getOperation(name);
    if (!accessCovers(roleAccess(identity), access)) throw denied(name, access, identity);
    return callOverTransport(this, name, input, options);
  }

  async events(sink: LinkEvents): Promise<Disposable> {
    return listenTo(this.parts, this.machine, await this.ready(), sink);
  }

  toRemoteTime(time: number): number {
    return time + this.parts.members.clockAhead(this.machine);
  }

  async send(body: string, call: CarriedCall): Promise<string> {
    try {
      return await this.sendOnce(body, call);
    } catch (thrown) {
      // A read whose answer was lost is repeated if there is time: it changes nothing.
      const isRead = call.access === "observe" && !isWait(call.operation);
      if (!isRead || !(thrown instanceof ConnectionLost) || Date.now() >= call.deadline) throw thrown;
      return this.sendOnce(body, call);
    }
  }

  /** Sends a request to the current incarnation, and awaits its answer while the machine is present. */
  private async sendOnce(body: string, { operation, access, signal, sentTo, headers }: CarriedCall): Promise<string> {
    const { machine, parts } = this;
    const { members, requests, connection } = parts;
    const { identity } = connection;
    const subject = requestSubject({ machine, access, user: identity.user, operation });
    // A second attempt only if the machine was restarted and has done nothing.
    for (let isAgain = false; ; isAgain = true) {
      const boot = await this.ready();
      // A request that one incarnation may have executed goes to another one only after the first is gone: the new one
      // knows the request's id then.
      if ([...sentTo].some((other) => other !== boot && members.isAlive(machine, other, HEARD_MS))) {
        throw troubleOf(machine, "conflict", null);
      }
      sentTo.add(boot);
      const outcome = await requests.request(machine, subject, body, {
        key: crypto.randomUUID(),
        headers: { ...headers(), [headerNames.boot]: boot },
        isGone: () => this.isGone(boot),
        refusedBy: async () => !(await this.isAlive(boot)),
        ...defined({ signal }),
      });
      switch (outcome.kind) {
        case "answer":
          return outcome.text;
        case "refused":
          sentTo.delete(boot);
          if (!isAgain) continue;
          throw this.unreachable();
        case "nobody":
          members.markSilent(machine);
          throw this.unreachable();
        case "denied":
          throw denied(operation, access, identity);
        case "not_sent":
          throw this.unreachable();
        case "too_large":
          throw new WshError("payload_too_large", `the fleet takes at most ${connection.maxBytes} bytes at a time`);
        case "cancelled":
          throw new WshError("cancelled", "the caller ended the request");
        case "lost":
        case "not_an_answer":
          throw new ConnectionLost("the connection was lost");
      }
    }
  }

  /** A cancelled request is withdrawn by its signal. */
  cancel(): void {}

  unreachable(): WshError {
    return troubleOf(this.machine, "unreachable", this.parts.connection.error);
  }

  dial(target: string, process: DialedProcess = "session"): Dial {
    const { machine, parts } = this;
    const open = (boot: string, events: WireEvents): Promise<Carrier> => {
      const access = roleAccess(parts.connection.identity);
      return openStreamOver(
        (pipe) => streamPipe(parts, { machine, access, boot, target, process }, pipe),
        machine,
        events,
      );
    };
    return {
      called: `${machine}/${target}`,
      open: async (events) => {
        const boot = await this.ready();
        try {
          return await open(boot, events);
        } catch (thrown) {
          const now = await this.ready();
          // Nothing was sent: the machine was restarted.
          if (WshError.from(thrown).code !== "machine_unreachable" || now === boot) throw thrown;
          return open(now, events);
        }
      },
    };
  }

  async *examine(): AsyncIterable<LinkStep> {
    const { connection, members } = this.parts;
    const advice = "Check the servers in the credentials, firewalls, certificates, and the credentials.";
    if (!connection.isUp) {
      yield { step: "fleet", ok: false, text: connection.error?.message ?? "not connected yet", advice };
      return;
    }
    yield { step: "fleet", ok: true, text: `connected as '${connection.identity.user}' (${connection.identity.role})` };
    try {
      const { version, hostname } = await this.hello();
      yield { step: "server", ok: true, text: `wsh ${version} on ${hostname}, protocol ${PROTOCOL_VERSION}` };
      const behind = Math.abs(members.clockAhead(this.machine));
      yield { step: "clock", ok: true, text: `differs by ${Math.round(behind)} ms` };
    } catch (thrown) {
      const error = WshError.from(thrown);
      yield { step: "server", ok: false, text: error.message, advice: error.hintAt("cli") };
    }
  }

  /** All links share the connection. */
  async close(): Promise<void> {}

  /** The incarnation to ask. @throws WshError machine_unreachable, machine_conflict, version_mismatch: nothing was sent */
  private async ready(): Promise<string> {
    const { members, connection } = this.parts;
    const { machine } = this;
    let health = members.healthOf(machine);
    if (!connection.isUp) throw troubleOf(machine, health, connection.error);
    if (health !== "healthy" && health !== "conflict" && health !== "version") {
      await this.isReachable();
      health = members.healthOf(machine);
    }
    const boot = members.beatOf(machine)?.boot;
    if (health !== "healthy" || boot === undefined) throw troubleOf(machine, health, connection.error);
    return boot;
  }

  /** Whether it sends a heartbeat when asked. */
  isReachable(): Promise<boolean> {
    const beat = this.parts.members.nextHeartbeat(this.machine, PROBE_MS);
    this.parts.connection.publish(serviceSubject("PING", this.machine), "");
    return beat;
  }

  /** Whether an asked incarnation is gone: the machine is absent, or was restarted. */
  private isGone(boot: string): boolean {
    const { members, connection } = this.parts;
    this.probe();
    if (members.healthOf(this.machine) === "unreachable") return true;
    if (members.beatOf(this.machine)?.boot === boot) return false;
    connection.publish(serviceSubject("PING", this.machine), "");
    return !members.isAlive(this.machine, boot, HEARD_MS);
  }

  /** The servers report a message without a receiver sooner than heartbeats are missed. */
  private probe(): void {
    const now = performance.now();
    if (now - this.probedAt < PROBE_AGAIN_MS) return;
    this.probedAt = now;
    const { requests, members } = this.parts;
    requests.announce(this.machine, serviceSubject("INFO", this.machine), new Uint8Array(), {}, () =>
      members.markSilent(this.machine),
    );
  }

  /** Whether an incarnation still sends heartbeats: all under the name are asked. */
  private async isAlive(boot: string): Promise<boolean> {
    const { members, connection } = this.parts;
    const asked = performance.now();
    connection.publish(serviceSubject("PING", this.machine), "");
    await Bun.sleep(BOOTS_MS);
    return members.isAlive(this.machine, boot, performance.now() - asked);
  }
}

/** A machine that asks others has no credentials for it: its requests have no receiver. */
function roleAccess({ role }: FleetIdentity): Access {
  return role === "machine" ? "observe" : role;
}

function denied(name: string, access: Access, { user, role }: FleetIdentity): WshError {
  return new WshError(
    "access_denied",
    `'${name}' needs the access '${access}'; '${user}' has the role '${role}' in the fleet`,
    {
      hint: "Get credentials with that role: `wsh fleet invite --role`.",
    },
  );
}

function helloOf(members: Members, machine: string, now = members.now): LinkHello | null {
  const beat = members.beatOf(machine, now);
  if (beat === null) return null;
  const { wsh, version, hostname, boot } = beat;
  return { wsh, version, hostname, server_id: boot };
}

function troubleOf(machine: string, health: LinkState["health"], cause: Error | null): WshError {
  const details = { machine };
  if (health === "conflict") {
    return new WshError("machine_conflict", `several machines of the fleet are named '${machine}'; nothing was run`, {
      ...details,
      hint: "Credentials were probably copied: give each machine its own, or stop all but one.",
    });
  }
  if (health === "version") {
    return new WshError("version_mismatch", `machine '${machine}' speaks another protocol; this is wsh ${VERSION}`, {
      ...details,
      hint: "Install the same version on both; its sessions keep running.",
    });
  }
  if (health === "rejected") {
    return new WshError("machine_unreachable", `the fleet's servers refuse this machine: ${cause?.message}`, {
      ...details,
      hint: "Its credentials expired, were revoked, or belong to another fleet: join with a new invitation, see `wsh doctor`.",
    });
  }
  const why =
    cause === null
      ? `machine '${machine}' does not answer`
      : `this server is not connected to its fleet: ${cause.message}`;
  return new WshError("machine_unreachable", why, details);
}
