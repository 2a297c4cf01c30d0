/**
 * Browsers that a person has admitted (`wsh open`): each has its own key. Only the public half of the key is
 * stored here. The key is valid only on the origin on which it was registered, since a later owner of another
 * origin also owns its storage. A browser has the access of the person who admitted it.
 */
import { join } from "node:path";
import * as v from "valibot";
import { randomToken } from "../base/random-token.ts";
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { PrivateList } from "./private-list.ts";

/** Devices of an instance: far more than a person has browsers. The least recently used one is evicted. */
const MAX_DEVICES = 50;
/** Characters of a device's id. */
const ID_LENGTH = 12;
/** Interval between updates of a device's last use, in ms: people care about days. */
const NOTE_MS = 3_600_000;

const DeviceSchema = v.object({
  id: v.string(),
  /** The name that people use, such as `chrome-1`. */
  name: v.string(),
  origin: v.string(),
  /** P-256, the uncompressed point, in base64. */
  key: v.string(),
  /** Milliseconds since 1970. */
  created_at: v.number(),
  used_at: v.number(),
});
export type Device = v.InferOutput<typeof DeviceSchema>;

export const devices = new PrivateList<Device>(
  (instance) => join(instance.stateDir, `${instance.fileName}.devices.json`),
  DeviceSchema,
  "devices",
);

/** Returns the device with this key, added if missing. @param kind the browser's name for itself: `chrome` */
export async function addDevice(
  instance: Instance,
  { kind, origin, key }: { readonly kind: string; readonly origin: string; readonly key: string },
): Promise<Device> {
  const now = Date.now();
  let added: Device | undefined;
  await devices.change(instance, (known) => {
    const same = known.find((each) => each.key === key && each.origin === origin);
    if (same !== undefined) {
      added = { ...same, used_at: now };
      return known.map((each) => (each === same ? { ...same, used_at: now } : each));
    }
    const newest = known.toSorted((a, b) => b.used_at - a.used_at).slice(0, MAX_DEVICES - 1);
    const numbers = newest.map(({ name }) => (name.startsWith(`${kind}-`) ? Number(name.slice(kind.length + 1)) : 0));
    const name = `${kind}-${Math.max(0, ...numbers) + 1}`;
    added = { id: randomToken(ID_LENGTH), name, origin, key, created_at: now, used_at: now };
    return [...newest, added];
  });
  if (added === undefined) throw new WshError("internal_error", "the device could not be saved");
  return added;
}

/** Records that a device was used, if the last record is older than NOTE_MS. */
export async function noteUse(instance: Instance, id: string): Promise<void> {
  const now = Date.now();
  const device = devices.read(instance).find((each) => each.id === id);
  if (device === undefined || now - device.used_at < NOTE_MS) return;
  await devices.change(instance, (known) => known.map((each) => (each.id === id ? { ...each, used_at: now } : each)));
}

/** @returns whether a device had that name */
export async function revokeDevice(instance: Instance, name: string): Promise<boolean> {
  if (!devices.read(instance).some((each) => each.name === name)) return false;
  await devices.change(instance, (known) => known.filter((each) => each.name !== name));
  return true;
}
