/**
 * Calls for another machine: determined by the target (`m1/dev`), by `server`, or by the caller's own choice, and sent
 * there over its link. Answers name sessions in the form for this machine's callers. A call with a bare name never
 * reaches this module.
 */
import { addressedAnswer } from "../../cluster/checked-answer.ts";
import type { Machines } from "../../cluster/machines.ts";
import type { CallContext } from "../../operations/call.ts";
import { getOperation, type OperationInput, type OperationName, type OperationOutput } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { isAddress, localMachine } from "../../protocol/machines.ts";
import { isMachineName, parsePlace } from "../../protocol/names.ts";
import type { PlacementRule } from "../../protocol/session.ts";
import { Connection } from "../../wire/connection.ts";
import { SessionPlacement } from "./placing.ts";
import { Repeats } from "./repeats.ts";

type Context = CallContext & { readonly session?: string };

export class RemoteCalls {
  private readonly repeats = new Repeats();

  private readonly placing: SessionPlacement;

  constructor(
    private readonly machines: Machines,
    /** This server's name, which stands for itself. */
    private readonly hostname: string,
  ) {
    this.placing = new SessionPlacement(machines);
  }

  /** The machine that a call concerns; null: this one. @throws WshError invalid_request when two are named */
  machineOf(name: OperationName, input: unknown, { session, machine }: Context): string | null {
    const { machineIn } = getOperation(name);
    if (machineIn === "nowhere") return null;
    const fields: Readonly<Record<string, unknown>> = typeof input === "object" && input !== null ? { ...input } : {};
    const field = machineIn === "server" && typeof fields.server === "string" ? fields.server : undefined;
    const requested = field === undefined || field === localMachine ? (machine ?? field) : field;
    const nestedTarget =
      machineIn === "session" ? fields.session : name === "sessions.create" ? fields.name : undefined;
    const place = session ?? (typeof nestedTarget === "string" ? nestedTarget : "");
    const placeMachine = parsePlace(place).machine;
    // An invalid machine name cannot be part of a session's name either.
    const named = placeMachine !== null && (session !== undefined || isMachineName(placeMachine)) ? placeMachine : null;
    if (named !== null && requested !== undefined && named !== requested) {
      throw new WshError("invalid_request", `'${place}' is on '${named}', but 'server' is '${requested}'`);
    }
    const machineName = named ?? requested ?? null;
    if (machineName === null || machineName === this.hostname || machineName === localMachine) return null;
    // A caller that may only call operations must not make this machine log in elsewhere.
    if (isAddress(machineName)) throw new WshError("machine_not_found", `no machine '${machineName}': add it first`);
    return machineName;
  }

  /** @throws WshError machine_not_found and those of the link and the operation */
  async call<N extends OperationName>(
    machine: string,
    name: N,
    input: OperationInput<N>,
    { session, caller, access, signal, once, deadline }: Context,
  ): Promise<OperationOutput<N>> {
    const link = this.linkTo(machine, name);
    const callOptions = {
      ...(session === undefined ? {} : { session: parsePlace(session).target }),
      ...defined({ deadline }),
    };
    const remoteInput = inputForMachine(name, input) as OperationInput<N>;
    const describedRequest = { operation: name, target: `${machine}/${session ?? ""}`, input };
    const answer = await this.repeats.withRequestId(describedRequest, caller, once, ({ key, id, first_at }) =>
      link.call(name, remoteInput, {
        ...callOptions,
        request: { id: key, displayId: id, firstAt: first_at },
        caller,
        access,
        signal,
      }),
    );
    return addressedAnswer(machine, name, answer) as OperationOutput<N>;
  }

  /** Gets a person's permission there for the same call, which follows. @throws WshError access_denied, and of the link */
  async askAhead(
    machine: string,
    name: OperationName,
    input: unknown,
    { session, caller, access, signal, waits }: Context,
  ): Promise<object> {
    const { target } = parsePlace(session ?? "");
    const { connection } = await Connection.open(this.linkTo(machine, name).dial(target), "server");
    try {
      const context = { caller, access, signal, target, waits };
      await connection.request("peer.leave", { op: name, input: inputForMachine(name, input), ahead: true }, context);
    } finally {
      connection.close();
    }
    return {};
  }

  /** A session on any suitable machine. @throws WshError machine_not_found, machine_busy */
  async create(
    place: PlacementRule,
    input: OperationInput<"sessions.create">,
    context: Context,
  ): Promise<OperationOutput<"sessions.create">> {
    const { caller, once } = context;
    const describedRequest = { operation: "sessions.create", target: "", input };
    return this.repeats.withRequestId(describedRequest, caller, once, (asked) =>
      this.placing.create(place, input, context, asked, once !== undefined, (machine, given) =>
        this.call(machine, "sessions.create", given, { ...context, once: asked }),
      ),
    );
  }

  private linkTo(machine: string, name: OperationName) {
    try {
      return this.machines.link(machine);
    } catch (thrown) {
      const error = WshError.from(thrown);
      if (error.code !== "machine_not_found" || getOperation(name).machineIn !== "server") throw error;
      // The name of this error in operations with a `server` parameter.
      throw new WshError("server_not_found", `no server '${machine}'; this is '${this.hostname}'`);
    }
  }
}

/** The input without the machine's name. */
function inputForMachine(name: OperationName, input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  const { machineIn } = getOperation(name);
  if (machineIn === "session") return historyInputForMachine(input);
  if (machineIn !== "server") return input;
  const { server: _, ...given } = { server: undefined, ...input };
  // Only that machine's own events: machines that it reaches have no name here.
  const rest = { ...given, server: localMachine };
  if (name !== "sessions.create" || !("name" in rest) || typeof rest.name !== "string") return rest;
  const { name: place, ...unnamed } = rest;
  const { target } = parsePlace(place);
  return target === "" ? unnamed : { ...unnamed, name: target };
}

function historyInputForMachine(input: object): unknown {
  const { session, all_machines: _, ...rest } = { session: undefined, all_machines: undefined, ...input };
  if (typeof session !== "string") return session === undefined ? rest : { ...rest, session };
  return { ...rest, session: parsePlace(session).target };
}
