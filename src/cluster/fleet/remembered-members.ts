/**
 * The last known machines of the fleet and their sessions, across starts of the server: in NAME.fleet.json of the
 * state directory, and, if the NATS servers have JetStream, in the key-value bucket `wsh_machines`, to which
 * every machine writes its own entry when it changes. Both only fill gaps: a machine's heartbeats take
 * precedence.
 */
import fs from "node:fs";
import * as v from "valibot";
import { readOwnJson } from "../../instance/own-json.ts";
import { replaceOwnFile } from "../../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { MACHINES_BUCKET } from "../../protocol/fleet.ts";
import { BeatSchema } from "../../protocol/fleet-messages.ts";
import { ToldTimeSchema } from "../../protocol/machines.ts";
import { isMachineName } from "../../protocol/names.ts";
import { SessionInfoSchema } from "../../protocol/session.ts";
import { isPossibleSession } from "../checked-answer.ts";
import { rememberedFile } from "./creds-file.ts";
import { type Members, memberSessions } from "./members.ts";
import type { FleetRequests } from "./requests.ts";

/** Delay from a change to the write of the file, in ms: it is written completely. */
const WRITE_MS = 2_000;
/** Largest file that is read, in bytes: 10,000 machines of ten sessions are below. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Longest wait for an answer of JetStream, in ms. */
const BUCKET_MS = 2_000;
const READ_AT_ONCE = 256;

/** A machine's remembered state, as in its own entry of the bucket. */
const RememberedMemberSchema = v.object({
  beat: v.nullable(BeatSchema),
  /** Unix time in ms of its last heartbeat. */
  heard_at: v.nullable(ToldTimeSchema),
  sessions: v.nullable(v.object({ at: ToldTimeSchema, sessions: v.array(SessionInfoSchema) })),
});
export type RememberedMember = v.InferOutput<typeof RememberedMemberSchema>;

const FileSchema = v.record(v.string(), v.unknown());
const json = <S extends v.GenericSchema>(schema: S) => v.pipe(v.string(), v.parseJson(), schema);

export class RememberedMembers {
  private writtenChanges = 0;
  private timer: Timer | null = null;
  private isBucketRead = false;

  constructor(
    private readonly instance: Instance,
    private readonly members: Members,
  ) {
    this.readAll();
    // The file's existence shows that this instance has a fleet.
    if (!fs.existsSync(this.path)) this.write();
  }

  /** Called often; writes only changes. */
  writeChanges(): void {
    if (this.members.changes === this.writtenChanges || this.timer !== null) return;
    this.timer = setTimeout(() => this.write(), WRITE_MS);
    this.timer.unref();
  }

  stop(): void {
    clearTimeout(this.timer ?? undefined);
    if (this.members.changes !== this.writtenChanges) this.write();
  }

  /** Reads the bucket once; without JetStream, or without the bucket, it gives nothing. */
  async readBucket(requests: FleetRequests, mayCreate: boolean): Promise<void> {
    if (this.isBucketRead) return;
    this.isBucketRead = true;
    const keys = `$KV.${MACHINES_BUCKET}.`;
    const request = async (subject: string, body: object | null) => {
      const text = body === null ? "" : JSON.stringify(body);
      const outcome = await requests.request("$js", subject, text, { patienceMs: BUCKET_MS });
      return outcome.kind === "answer" ? outcome.text : null;
    };
    const info = v.safeParse(
      json(StreamInfoSchema),
      await request(`$JS.API.STREAM.INFO.KV_${MACHINES_BUCKET}`, { subjects_filter: `${keys}>` }),
    );
    if (!info.success) return;
    if (info.output.error !== undefined) {
      if (mayCreate && info.output.error.code === 404)
        await request(`$JS.API.STREAM.CREATE.KV_${MACHINES_BUCKET}`, bucket(keys));
      return;
    }
    const names = Object.keys(info.output.state?.subjects ?? {}).map((subject) => subject.slice(keys.length));
    for (let index = 0; index < names.length; index += READ_AT_ONCE) {
      await Promise.all(
        names.slice(index, index + READ_AT_ONCE).map(async (name) => {
          // A body would make it another request, which is refused.
          const text = await request(`$JS.API.DIRECT.GET.KV_${MACHINES_BUCKET}.${keys}${name}`, null);
          const value = v.safeParse(json(v.unknown()), text);
          if (value.success) this.readEntry(name, value.output);
        }),
      );
    }
  }

  /** An invalid entry does not affect the others: each machine has written its own. */
  private readEntry(name: string, value: unknown): void {
    const parsed = v.safeParse(RememberedMemberSchema, value);
    if (!parsed.success || !isMachineName(name)) return;
    const { beat, heard_at, sessions } = parsed.output;
    if (sessions?.sessions.every(isPossibleSession) === false) return;
    const listed =
      sessions === null ? null : memberSessions(name, sessions.sessions, { reportedAt: sessions.at, boot: "", rev: 0 });
    this.members.remember(name, beat, listed, heard_at);
  }

  private get path(): string {
    return rememberedFile(this.instance);
  }

  private readAll(): void {
    const stored = readOwnJson(this.path, FileSchema, MAX_BYTES);
    // Unreadable: heartbeats will report the machines.
    if (stored === null) return;
    for (const [name, member] of Object.entries(stored)) this.readEntry(name, member);
    this.writtenChanges = this.members.changes;
  }

  private write(): void {
    this.timer = null;
    this.writtenChanges = this.members.changes;
    // Joined from each machine's cached text: serializing thousands again would delay every request.
    const all = this.members.names.map((name) => {
      const listed = this.members.lastList(name);
      const sessions = listed === null ? "null" : `{"at":${listed.reportedAt},"sessions":${listed.text}}`;
      const beat = JSON.stringify(this.members.beatOf(name));
      return `${JSON.stringify(name)}:{"beat":${beat},"heard_at":${this.members.heardAt(name)},"sessions":${sessions}}`;
    });
    try {
      prepareStateDir(this.instance);
      replaceOwnFile(this.path, `{${all.join(",")}}\n`);
    } catch {
      // Only the list after the next start is less complete.
    }
  }
}

const StreamInfoSchema = v.looseObject({
  error: v.optional(v.looseObject({ code: v.number() })),
  state: v.optional(v.looseObject({ subjects: v.optional(v.record(v.string(), v.number())) })),
});

/** The bucket's configuration, as NATS's own tools create it. */
function bucket(keys: string): object {
  return {
    name: `KV_${MACHINES_BUCKET}`,
    description: "machines of a fleet of wsh",
    subjects: [`${keys}>`],
    max_msgs_per_subject: 1,
    discard: "new",
    storage: "file",
    retention: "limits",
    num_replicas: 1,
    allow_direct: true,
    allow_rollup_hdrs: true,
    deny_delete: true,
  };
}
