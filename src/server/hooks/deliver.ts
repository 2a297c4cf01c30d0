/**
 * Sends a notice by HTTP: to a topic of ntfy (https://docs.ntfy.sh/publish/#publish-as-json), or as JSON to any
 * address. Only the status of the answer is used. A failure is retried, but not a refusal (4xx) or a certificate
 * that is not accepted.
 */
import { certificateAdvice } from "../../cluster/certificate-step.ts";
import { transportTrouble } from "../../cluster/transport-trouble.ts";
import { intervals } from "../../platform/intervals.ts";
import { present } from "../../protocol/defined.ts";
import type { Notice, Notify } from "../../protocol/notices.ts";
import type { RecordedEvent } from "../../protocol/recorded-events.ts";
import { readToken } from "../../secrets/token-file.ts";

/** Time limit of one attempt, and pauses before further ones, in ms. */
const TRY_MS = 10_000;
const PAUSES_MS = [intervals.noticeRetry, 10 * intervals.noticeRetry] as const;

const TRUST = "For an authority of your own, start the server with NODE_EXTRA_CA_CERTS=FILE, its certificate.";

/** A button: its label, and the address to which a POST presses it. */
export interface NoticeAction {
  readonly label: string;
  readonly url: string;
}

interface Delivery {
  readonly notify: Notify;
  readonly notice: Notice;
  readonly actions: readonly NoticeAction[];
  /** Null if the notice must not contain details. */
  readonly event: RecordedEvent | null;
}

/** @throws Error when the notice was not delivered */
export async function deliver(delivery: Delivery, pausesMs: readonly number[] = PAUSES_MS): Promise<void> {
  const { url = "", token_file } = delivery.notify;
  const token = token_file === undefined ? null : readToken(token_file);
  const [address, body] = delivery.notify.way === "ntfy" ? ntfy(url, delivery) : [url, webhook(delivery)];
  const headers = {
    "Content-Type": "application/json",
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
  };
  for (let attempt = 0; ; attempt++) {
    let failure: string;
    try {
      const signal = AbortSignal.timeout(TRY_MS);
      const answer = await fetch(address, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        redirect: "error",
        signal,
      });
      await answer.body?.cancel();
      if (answer.ok) return;
      failure = `it answered ${answer.status}`;
      if (answer.status < 500 && answer.status !== 429) throw new Refusal(failure);
    } catch (thrown) {
      if (thrown instanceof Refusal) throw thrown;
      failure = thrown instanceof Error ? transportTrouble(thrown) : String(thrown);
      const advice = certificateAdvice(thrown, TRUST);
      if (advice !== null) throw new Refusal(`${failure}. ${advice}`);
    }
    const pause = pausesMs[attempt];
    if (pause === undefined) throw new Error(failure);
    await Bun.sleep(pause);
  }
}

class Refusal extends Error {}

/** A message to the topic's server, with the topic in its body: headers accept only Latin text. */
function ntfy(url: string, { notice, actions }: Delivery): [string, object] {
  const at = url.replace(/\/+$/, "").lastIndexOf("/");
  const topic = url.slice(at + 1).replace(/\/+$/, "");
  const isUrgent = notice.kind !== "command" && notice.kind !== "notification";
  const message = {
    topic,
    title: notice.title,
    message: notice.text,
    priority: isUrgent ? 4 : 3,
    tags: ["computer"],
    actions: actions.map(({ label, url: pressed }) => ({
      action: "http",
      label,
      url: pressed,
      method: "POST",
      clear: true,
    })),
  };
  return [url.slice(0, at), message];
}

function webhook({ notice, actions, event }: Delivery): object {
  const { kind, title, text } = notice;
  return { kind, title, text, actions, ...present({ event }) };
}
