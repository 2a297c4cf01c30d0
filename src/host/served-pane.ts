/** A session of one pane, as its socket serves it: its operations, its streams, and its place beside other floods. */
import * as v from "valibot";
import type { Served } from "../endpoint/served.ts";
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { SecretInputSchema } from "../protocol/secret.ts";
import { askedFirst } from "../session/windows/asked-first.ts";
import { SaveToSchema, unnamedDir } from "../store/checkpoint/named.ts";
import type { PeerRequest } from "../wire/peer.ts";
import type { Checkpoints } from "./checkpoints/keep.ts";
import { FloodPace } from "./fairness/pacing.ts";
import { FloodPriority } from "./fairness/priority.ts";
import type { Membership } from "./membership.ts";
import type { Promotion } from "./promotion.ts";
import type { Recovery } from "./recovery.ts";
import type { Session } from "./session.ts";
import { shownPane } from "./shown-pane.ts";
import { startedBy } from "./started-by.ts";

export interface PanePlace {
  readonly instance: Instance;
  readonly membership: Membership;
  readonly promotion: Promotion;
  readonly recovery: Recovery;
  /** The session's checkpoint, once it is kept. */
  checkpoints(): Checkpoints | null;
}

export function servedPane(session: Session, place: PanePlace): Served {
  const { pane } = session;
  const shown = shownPane(session);
  let operations: Promise<typeof import("./operations/dispatch.ts")> | null = null;
  /** Loaded with the first request, to save memory in sessions that get none. */
  function loadOperations(): Promise<typeof import("./operations/dispatch.ts")> {
    operations ??= import("./operations/dispatch.ts");
    return operations;
  }
  async function operate(request: PeerRequest): Promise<unknown> {
    const answered = priority.asked();
    try {
      const { operate } = await loadOperations();
      return await operate(session, request, place);
    } finally {
      answered();
    }
  }
  const priority = new FloodPriority(
    () => session.viewers.count > 0,
    () => void loadOperations(),
    new FloodPace(() => pane.hold()),
  );
  return {
    session,
    role: "host",
    paneId: pane.id,
    get isMember() {
      return place.membership.isMember;
    },
    begin({ changed, agent, tell }) {
      for (const change of ["listed", "title", "alternate"] as const) pane.events.on(change, changed);
      // Programs copy, too; a pane of several tells its layout process by its pictures.
      pane.events.on("clipboard", ({ base64 }) => place.membership.isMember || session.buffers.copied(base64));
      pane.events.on("chunk", ({ bytes }) => priority.count(bytes.length));
      pane.events.on("agent", (changed) => agent(pane.id, changed));
      pane.events.on("endTold", () => tell("session_end_told"));
    },
    shown: () => shown,
    startedBy: (pid) => startedBy(session, pid),
    window(target) {
      const [window] = session.info().windows;
      const id = window?.id ?? null;
      if (target !== undefined && target !== id && target !== "0" && target !== window?.name)
        throw new WshError("pane_not_found", `the session has no window '${target}'`);
      return { id, shown, dispose: () => {} };
    },
    askedFirst: async (binding) => askedFirst(binding, session.info(), pane.id),
    async elsewhere({ operation, input }) {
      const { needsLayout } = await loadOperations();
      if (place.membership.isMember || !needsLayout(operation, input)) return null;
      return async () => void (await place.promotion.promote());
    },
    async bound(binding, _, { by, about = pane.id, signal = new AbortController().signal }) {
      return operate({
        op: binding.operation,
        input: binding.input,
        target: about,
        ...by,
        signal,
      });
    },
    between: async ({ op, input, caller, access, signal }, peer) => {
      if (op === "host.served") return place.recovery.served(input, peer);
      if (op === "host.typed_beside") {
        priority.typedBeside();
        return {};
      }
      if (op === "host.keep") {
        peer.onClosed = session.lifetime.keep();
        return {};
      }
      if (op === "host.restart") {
        await session.lifetime.restart();
        return session.info();
      }
      if (op === "host.checkpoint") {
        const { folder } = v.parse(SaveToSchema, input);
        await place.checkpoints()?.saveTo(unnamedDir(place.instance, folder));
        return {};
      }
      // A pane is put beside this one: there are several then.
      if (op === "host.adopt") return place.promotion.forward(op, input, { caller, access, signal, target: pane.id });
      if (op === "host.secret_prompt") return { prompt: pane.secrets.prompt() };
      if (op === "host.secret") {
        const { group, typed, before } = v.parse(SecretInputSchema, input);
        const inTime = Date.now() < before;
        return { taken: inTime && (await pane.secrets.type({ group }, new TextEncoder().encode(typed))) };
      }
      throw new WshError("unknown_method", `this session process knows no request '${op}'`);
    },
    restoreUndone: () => place.checkpoints()?.undone(),
    endedFromOutside: async (signal) => place.checkpoints()?.lastOf(signal),
    operate,
    clients: async () => (await import("./streams/client-streams.ts")).clientStreams(session),
  };
}
