/**
 * The subjects that each role may publish and subscribe on a fleet's cluster, as templates of its signing key:
 * nats-server replaces `{{name()}}` with the user's own name, so no user can act as another, whatever a message
 * contains.
 *
 * No role answers by nats-server's `allow_responses`: the caller chooses the subject of the answer, and nats-server
 * does not check it. A user with a machine could have it "answer" to the subject of an administrator's request.
 * Instead, an inbox contains the answering machine's name, and a machine may write only to inboxes with its name. For
 * the same reason no role creates consumers, which deliver to any subject that their creator names. Pure.
 */
import { type FleetRole, MACHINES_BUCKET } from "../../protocol/fleet.ts";

interface RolePermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

const ownName = "{{name()}}";
const bucket = `KV_${MACHINES_BUCKET}`;
/** Reads the bucket's state, and one value. */
const bucketReading = [`$JS.API.STREAM.INFO.${bucket}`, `$JS.API.DIRECT.GET.${bucket}.>`];
/** Creates the bucket, and removes a machine. */
const bucketKeeping = ["$JS.API.INFO", `$JS.API.STREAM.CREATE.${bucket}`, `$KV.${MACHINES_BUCKET}.*`];
const accesses = ["observe", "operate", "admin"] as const;

const machine: RolePermissions = {
  publish: [
    `wsh1.up.${ownName}`,
    `wsh1.ev.${ownName}.>`,
    `wsh1.d.*.${ownName}.*`,
    `_INBOX.*.${ownName}.>`,
    "_INBOX.*.$all.>",
    `$KV.${MACHINES_BUCKET}.${ownName}`,
    `$JS.API.STREAM.INFO.${bucket}`,
  ],
  subscribe: [
    `wsh1.q.${ownName}.>`,
    `wsh1.u.${ownName}.>`,
    ...["PING", "INFO"].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.wsh`, `$SRV.${verb}.wsh.${ownName}`]),
    `_INBOX.${ownName}.>`,
  ],
};

/** A caller requests operations under subjects for each access that its role includes. */
function caller(role: (typeof accesses)[number]): RolePermissions {
  const covered = accesses.slice(0, accesses.indexOf(role) + 1);
  return {
    publish: [
      ...covered.flatMap((access) => [`wsh1.q.*.${access}.${ownName}.*`, `wsh1.u.*.${access}.${ownName}.*`]),
      ...["PING", "INFO"].flatMap((verb) => [`$SRV.${verb}.wsh`, `$SRV.${verb}.wsh.*`]),
      ...bucketReading,
      ...(role === "admin" ? bucketKeeping : []),
    ],
    subscribe: [`_INBOX.${ownName}.>`, `wsh1.d.${ownName}.>`, "wsh1.up.*", "wsh1.ev.>"],
  };
}

export const rolePermissions: Readonly<Record<FleetRole, RolePermissions>> = {
  machine,
  observe: caller("observe"),
  operate: caller("operate"),
  admin: caller("admin"),
};
