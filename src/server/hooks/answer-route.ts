/**
 * `POST /notice/CODE`: the button of a notice was pressed. The address is the caller's only credential, and answers one
 * question, once; opening it (GET) changes nothing.
 */
import type { Hono } from "hono";
import type { Instance } from "../../instance/paths.ts";
import type { Call } from "../../operations/call.ts";
import { NOTICE_TOKEN } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { ensureNoticeKey } from "../../secrets/own-secrets.ts";
import { FailedAttempts } from "../auth/rate-limit.ts";
import type { AppEnv } from "../http/context.ts";
import { answerOf } from "./answer-addresses.ts";

/** Mounted before admission: its callers have no token. */
export function mountAnswers(app: Hono<AppEnv>, instance: Instance, call: Call): void {
  const failedAttempts = new FailedAttempts();
  app.post("/notice/:code", async (c) => {
    const { peer, agent } = c.env;
    c.header("Cache-Control", "no-store");
    // A notification service's page sends it from its own origin; only the code counts.
    c.header("Access-Control-Allow-Origin", "*");
    if (agent !== null) throw new WshError("access_denied", `${agent} may not answer for the person`);
    const addressed = answerOf(ensureNoticeKey(instance), c.req.param("code"));
    if (addressed === null) {
      failedAttempts.add(peer);
      const hint =
        "The address of each button is in its notice; the question can also be answered at a terminal or in the page.";
      throw new WshError("auth_invalid", "this is not an address of a notice", { hint });
    }
    const { session, ask: ask_id, answer } = addressed;
    const via = { token: NOTICE_TOKEN, peer };
    const caller = {
      kind: "http",
      id: `notice:${ask_id}`,
      name: "an answer to a notice",
      connected: false,
      via,
    } as const;
    const context = { caller, access: "admin", signal: c.req.raw.signal, session } as const;
    const { state } = await call("ask.answer", { ask_id, answer }, context);
    return c.json({ state });
  });
}
