/**
 * The machines that were added, in NAME.machines.json of the state directory: names, addresses and, for TCP,
 * tokens. Only its owner can access the file. Command line and server both read and change it, under its lock; a
 * change writes a complete new file and renames it into place. A file that cannot be parsed is an error, never an
 * empty list, which the next write would make permanent.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { withLock } from "../instance/lock.ts";
import { checkOwnFile, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";
import { WshError } from "../protocol/errors.ts";

/** Maximum machines added by hand. */
const MAX_MACHINES = 256;

const MachineSchema = v.object({
  name: v.string(),
  address: v.string(),
  token: v.optional(v.string()),
  /** PEM certificates that sign the server's, instead of the system's. */
  ca: v.optional(v.string()),
});
export type RememberedMachine = v.InferOutput<typeof MachineSchema>;

const FileSchema = v.object({ machines: v.array(MachineSchema) });

function fileOf({ stateDir, fileName }: Instance): string {
  return join(stateDir, `${fileName}.machines.json`);
}

/** Changes with each change of the file; empty without a file. */
export function machinesStamp(instance: Instance): string {
  const stat = fs.statSync(fileOf(instance), { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
}

/** @throws WshError unsafe_path, invalid_setting */
export function readMachines(instance: Instance): RememberedMachine[] {
  const path = fileOf(instance);
  if (!checkOwnFile(path)) return [];
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), FileSchema), fs.readFileSync(path, "utf8"));
  if (parsed.success) return parsed.output.machines;
  throw new WshError("invalid_setting", `${path} is not a list of machines`, {
    hint: "Correct the file, or remove it and add the machines again.",
  });
}

/** @throws WshError machine_conflict when the name is taken, resource_limit_reached */
export function rememberMachine(instance: Instance, machine: RememberedMachine): Promise<void> {
  return change(instance, (machines) => {
    const taken = machines.find(({ name }) => name === machine.name);
    if (taken !== undefined && taken.address !== machine.address) {
      throw new WshError("machine_conflict", `machine '${machine.name}' already exists at ${taken.address}`, {
        hint: "Give another name, or remove that one first.",
      });
    }
    if (taken === undefined && machines.length >= MAX_MACHINES) {
      throw new WshError("resource_limit_reached", `${MAX_MACHINES} machines are already added`);
    }
    return [...machines.filter(({ name }) => name !== machine.name), machine];
  });
}

/** @throws WshError machine_not_found */
export function forgetMachine(instance: Instance, name: string): Promise<void> {
  return change(instance, (machines) => {
    const rest = machines.filter((machine) => machine.name !== name);
    if (rest.length < machines.length) return rest;
    throw new WshError("machine_not_found", `no machine '${name}'`);
  });
}

async function change(instance: Instance, act: (machines: RememberedMachine[]) => RememberedMachine[]): Promise<void> {
  prepareStateDir(instance);
  const path = fileOf(instance);
  await withLock(`${path}.lock`, () => {
    const machines = act(readMachines(instance)).sort((a, b) => (a.name < b.name ? -1 : 1));
    try {
      replaceOwnFile(path, `${JSON.stringify({ machines }, null, 2)}\n`);
    } catch (thrown) {
      throw refused(`${path} cannot be written`, thrown);
    }
  });
}
