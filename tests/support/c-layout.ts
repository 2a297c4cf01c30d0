/** Layout that a 64-bit C compiler gives a header's declarations: offsets and sizes of structs, numbers of requests. */
import type { HeaderFacts, Request } from "../fixtures/headers/terms.ts";

const plainTypes: Readonly<Record<string, number>> = {
  char: 1,
  "unsigned char": 1,
  short: 2,
  "unsigned short": 2,
  int: 4,
  long: 8,
  uint16_t: 2,
  int32_t: 4,
  uint32_t: 4,
  int64_t: 8,
  uint64_t: 8,
};

export interface CType {
  readonly bytes: number;
  readonly alignment: number;
  /** Fields of a struct; fields of a nested struct as `outer.inner`. */
  readonly fields: ReadonlyMap<string, { readonly offset: number; readonly bytes: number }>;
}

/** @throws Error for a type that the facts do not contain */
export function typeOf(facts: HeaderFacts, name: string): CType {
  const bytes = plainTypes[name] ?? facts.types[name];
  if (bytes !== undefined) return { bytes, alignment: bytes, fields: new Map() };
  const struct = facts.structs[name];
  if (struct === undefined) throw new Error(`no type '${name}' among the facts`);
  const fields = new Map<string, { offset: number; bytes: number }>();
  let end = 0;
  let alignment = 1;
  for (const [field, typeName, length = 1] of struct) {
    const type = typeOf(facts, typeName);
    const offset = roundUp(end, type.alignment);
    end = offset + type.bytes * length;
    alignment = Math.max(alignment, type.alignment);
    fields.set(field, { offset, bytes: type.bytes * length });
    for (const [inner, at] of type.fields) fields.set(`${field}.${inner}`, { ...at, offset: offset + at.offset });
  }
  return { bytes: roundUp(end, alignment), alignment, fields };
}

function roundUp(n: number, to: number): number {
  return Math.ceil(n / to) * to;
}

/** Direction bits and the size mask of BSD's sys/ioccom.h. */
const IOC_VOID = 0x20000000;
const IOC_OUT = 0x40000000;
const IOC_IN = 0x80000000;
const IOCPARM_MASK = 0x1fff;

/** As BSD's macros encode it: direction, size of the argument, group, number. */
export function requestNumber(facts: HeaderFacts, request: Request): number {
  if (request.macro === "raw") return request.value;
  const tail = (request.group.charCodeAt(0) << 8) | request.number;
  if (request.macro === "_IO") return IOC_VOID + tail;
  const direction = { _IOR: IOC_OUT, _IOW: IOC_IN, _IOWR: IOC_IN + IOC_OUT }[request.macro];
  return direction + (typeOf(facts, request.type).bytes & IOCPARM_MASK) * 0x10000 + tail;
}
