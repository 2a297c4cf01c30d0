/**
 * Checks the connection to a fleet's servers step by step, from scratch, for `wsh doctor`: the step that fails, and
 * advice.
 */
import net from "node:net";
import * as v from "valibot";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Credentials, type FleetRole, MACHINES_BUCKET } from "../../protocol/fleet.ts";
import { BeatSchema } from "../../protocol/fleet-messages.ts";
import { everyBeat, serviceSubject } from "../../protocol/fleet-subjects.ts";
import { plainHost } from "../../protocol/machines.ts";
import { rolePermissions } from "../authority/permissions.ts";
import type { CertificateStep } from "../certificate-step.ts";
import { certificateStep } from "../certificate-step.ts";
import { CLOCK_MS, type LinkStep, UNDECIDED } from "../link.ts";
import { connectAs, identityOf } from "./connection.ts";

/** Longest wait for one server, and the time in which present machines have answered, in ms. */
const PATIENCE_MS = 5_000;
const BEATS_MS = 1_000;
const NOT_ADMITTED = "They may have expired, be revoked, or belong to another fleet: get a new invitation.";
/** Maximum refusals shown. */
const SHOWN_REFUSALS = 4;
/** Name of no machine and no user, for trying subjects. */
const NOBODY = "nobody-doctor";
const TRUST =
  "It is not signed by an authority that the credentials or the system trust: get a new invitation with the fleet's authority.";

/** Ends after the first step that fails. */
export async function* examineFleet(credentials: Credentials): AsyncIterable<LinkStep> {
  const { settings, user, expiresAt } = credentials;
  const { role, servers } = settings;
  const now = Date.now();
  if (expiresAt !== null && expiresAt <= now) {
    const text = `those of '${user}' expired on ${new Date(expiresAt).toISOString()}; the clock here says ${new Date(now).toISOString()}`;
    yield {
      step: "credentials",
      ok: false,
      text,
      advice: "Correct the clock, or get a new invitation: wsh fleet invite.",
    };
    return;
  }
  const tried = await Promise.all(servers.map((server) => reach(server, settings.ca)));
  const best = tried.find(({ ok }) => ok) ?? tried[0];
  for (const { server, reached } of tried) {
    if (reached !== null) continue;
    const isWhole = best?.reached === null;
    const text = `${server} does not answer`;
    yield isWhole
      ? { step: "reach", ok: false, text, advice: "Check the address, firewalls, and that nats-server runs there." }
      : { step: "reach", ok: true, text, advice: "Another server is used in the meantime." };
  }
  if (best === undefined || best.reached === null) return;
  yield { step: "reach", ok: true, text: `${best.server} answers in ${Math.round(best.reached)} ms` };
  if (!best.ok) {
    const advice = best.advice ?? "Check that the program there is nats-server.";
    yield { step: "TLS", ok: false, text: `${best.server}: ${best.text}`, advice };
    return;
  }
  yield { step: "TLS", ok: true, text: best.text, ...defined({ advice: best.advice }) };
  yield* examineLogin(credentials, `'${user}' (${role})`);
}

async function* examineLogin(credentials: Credentials, userLabel: string): AsyncIterable<LinkStep> {
  const { user, settings, expiresAt } = credentials;
  const client = await import("@nats-io/transport-node");
  let nats: Awaited<ReturnType<typeof connectAs>>;
  try {
    nats = await connectAs(client, identityOf(credentials));
  } catch (thrown) {
    const text = `${userLabel} is refused: ${WshError.from(thrown).message}`;
    yield {
      step: "credentials",
      ok: false,
      text,
      advice: NOT_ADMITTED,
    };
    return;
  }
  const refusals: string[] = [];
  // Credentials may expire or be revoked at any moment.
  const findLoginRefusal = (): string | undefined =>
    refusals.find((text) => /authentication|authorization/i.test(text));
  const loginEnded = (why: string): LinkStep => {
    return { step: "credentials", ok: false, text: `${userLabel} is now refused: ${why}`, advice: NOT_ADMITTED };
  };
  try {
    yield { step: "credentials", ok: true, text: `${userLabel} is accepted` };
    void (async () => {
      for await (const status of nats.status()) if (status.type === "error") refusals.push(status.error.message);
    })();
    tryPermissions(nats, settings.role, user);
    const offsets = new Map<string, number>();
    const isCaller = settings.role !== "machine";
    if (isCaller) {
      nats.subscribe(everyBeat, { callback: (_, message) => keepOffset(offsets, message) });
      nats.publish(serviceSubject("PING"), "");
    }
    let bucket = "no JetStream: machines are remembered in a file";
    const inbox = `_INBOX.${user}.$js.${crypto.randomUUID()}`;
    nats.subscribe(inbox, {
      max: 1,
      callback: (_, message) => {
        if (message.string().includes('"config"')) bucket = `the bucket ${MACHINES_BUCKET} remembers machines`;
      },
    });
    nats.publish(`$JS.API.STREAM.INFO.KV_${MACHINES_BUCKET}`, "", { reply: inbox });
    await nats.flush();
    await Bun.sleep(BEATS_MS);
    const why = findLoginRefusal();
    if (why !== undefined) {
      yield loginEnded(why);
      return;
    }
    const advice = "Give the user the permissions of docs/machines.md (Your own NATS cluster).";
    if (refusals.length > 0) {
      yield { step: "permissions", ok: false, text: refusals.slice(0, SHOWN_REFUSALS).join("; "), advice };
      return;
    }
    yield { step: "permissions", ok: true, text: bucket };
    if (isCaller) yield clockStep(offsets);
  } catch (thrown) {
    // The servers have closed the connection.
    const { message } = WshError.from(thrown);
    const why = findLoginRefusal() ?? (expiresAt !== null && expiresAt <= Date.now() ? "they have expired" : null);
    const advice = "Try again: the server may have restarted.";
    yield why === null
      ? { step: "reach", ok: false, text: `the connection was lost: ${message}`, advice }
      : loginEnded(why);
  } finally {
    await nats.close().catch(() => {});
  }
}

/**
 * Publishes and subscribes to the subjects that the role may use, for a machine or user that does not exist: the
 * servers report refusals. Subjects that others would take for news of this machine are not tried: heartbeats, events
 * and the remembered state.
 */
function tryPermissions(nats: Awaited<ReturnType<typeof connectAs>>, role: FleetRole, user: string): void {
  const { publish, subscribe } = rolePermissions[role];
  for (const pattern of subscribe) nats.subscribe(narrowed(pattern, user), { callback: () => {} });
  const isHarmless = (pattern: string): boolean => /^(wsh1\.[qud]|_INBOX)\./.test(pattern);
  for (const pattern of publish.filter(isHarmless)) nats.publish(narrowed(pattern, user), "");
}

/** One subject that a pattern covers. */
function narrowed(pattern: string, user: string): string {
  return pattern.replace("{{name()}}", user).replace("*", NOBODY).replace(/[*>]/g, "doctor");
}

function clockStep(offsets: ReadonlyMap<string, number>): LinkStep {
  const off = [...offsets].filter(([, ms]) => Math.abs(ms) > CLOCK_MS);
  if (offsets.size === 0) {
    const advice = "Invite one (wsh fleet invite --role machine), or start its server there: wsh server --ensure.";
    return { step: "clock", ok: true, text: "no machine answers, so clocks cannot be compared", advice };
  }
  if (off.length === 0)
    return { step: "clock", ok: true, text: `${offsets.size} machines answer, and their clocks agree` };
  const own = ownClock(offsets);
  if (own !== null) return { step: "clock", ok: true, text: own, advice: "Synchronize the clock here with NTP." };
  const text = off
    .slice(0, 8)
    .map(([name, ms]) => `${name} ${Math.round(ms / 1_000)} s`)
    .join(", ");
  return { step: "clock", ok: true, text: `clocks differ: ${text}`, advice: `${UNDECIDED}.` };
}

/**
 * Reports that all machines agree with each other but not with the clock here; null: it is unclear which clock is
 * wrong.
 */
function ownClock(offsets: ReadonlyMap<string, number>): string | null {
  const all = [...offsets.values()];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const isOwn = all.length > 1 && most - least <= CLOCK_MS && all.every((ms) => Math.abs(ms) > CLOCK_MS);
  if (!isOwn) return null;
  const seconds = Math.round(Math.abs(most) / 1_000);
  const how = most < 0 ? "ahead of" : "behind";
  return `the clock here is ${seconds} s ${how} those of ${all.length} machines, which agree: it is likely the wrong one`;
}

function keepOffset(offsets: Map<string, number>, message: { readonly subject: string; string(): string }): void {
  const beat = v.safeParse(v.pipe(v.string(), v.parseJson(), BeatSchema), message.string());
  if (beat.success) offsets.set(message.subject.split(".").at(-1) ?? "", beat.output.at - Date.now());
}

/** `ok`: the answer came from the expected server. */
interface ReachedServer extends CertificateStep {
  readonly server: string;
  /** Time to connect, in ms; null: the server does not answer. */
  readonly reached: number | null;
}

/** A NATS server greets unencrypted and then requires TLS; a WebSocket begins with TLS. */
async function reach(server: string, ca: string | undefined): Promise<ReachedServer> {
  const url = new URL(server.replace(/^(tls|nats|wss|ws):/, "https:"));
  const host = plainHost(url.hostname);
  const isSocket = /^wss?:/.test(server);
  const port = Number(url.port || (isSocket ? 443 : 4222));
  const began = performance.now();
  const socket = net.connect({ host, port });
  const done = Promise.withResolvers<ReachedServer>();
  let reached: number | null = null;
  const end = (ok: boolean, text: string, advice?: string): void => {
    done.resolve({ server, reached, ok, text, ...defined({ advice }) });
  };
  socket.setTimeout(PATIENCE_MS, () => end(false, "the connection stalls"));
  socket.on("error", (error) => end(false, error.message));
  socket.on("connect", () => {
    reached = performance.now() - began;
    if (/^(nats|ws):/.test(server)) return end(true, "not encrypted, local to this machine");
    if (isSocket) void secure();
    else socket.once("data", () => void secure());
  });
  const secure = async (): Promise<void> => {
    const { ok, text, advice } = await certificateStep(socket, host, ca, TRUST);
    end(ok, text, advice);
  };
  try {
    return await done.promise;
  } finally {
    socket.destroy();
  }
}
