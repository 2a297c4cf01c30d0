/** The structs that macOS's libproc writes, as a compiler lays out the headers' declarations, not by wsh's table. */
import { darwinHeaders } from "../../fixtures/headers/darwin.ts";
import { typeOf } from "../c-layout.ts";

type Value = number | bigint | string;

/** Bytes of a struct with these fields set (`outer.inner` in a nested struct) and all others 0. */
export function structBytes(name: string, values: Readonly<Record<string, Value>>): Uint8Array {
  const { bytes, fields } = typeOf(darwinHeaders, name);
  const struct = Buffer.alloc(bytes);
  for (const [field, value] of Object.entries(values)) {
    const place = fields.get(field);
    if (place === undefined) throw new Error(`struct ${name} has no field ${field}`);
    if (typeof value === "string") {
      // Truncated as in the kernel: at least one NUL remains.
      Buffer.from(value).copy(struct, place.offset, 0, place.bytes - 1);
    } else if (place.bytes === 8) struct.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), place.offset);
    else struct.writeUInt32LE(Number(value) >>> 0, place.offset);
  }
  return new Uint8Array(struct);
}

/** Result of sysctl KERN_PROCARGS2: the count, the executable, NULs up to the next word, arguments, environment. */
export function procArgsBytes(executable: string, args: readonly string[], env: readonly string[] = []): Uint8Array {
  const count = Buffer.alloc(4);
  count.writeInt32LE(args.length);
  const path = Buffer.from(`${executable}\0`);
  const padding = Buffer.alloc(((8 - (path.length % 8)) % 8) + 8);
  const strings = [...args, ...env].map((text) => Buffer.from(`${text}\0`));
  return new Uint8Array(Buffer.concat([count, path, padding, ...strings]));
}
