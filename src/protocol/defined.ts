/** Keeps the fields that have a value: in messages and options a field is absent rather than undefined. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = { ...fields } as { [K in keyof T]?: Exclude<T[K], undefined> };
  for (const key in fields) if (fields[key] === undefined) delete given[key];
  return given;
}

/** Like `defined`, also without null fields. */
export function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const given = { ...fields } as { [K in keyof T]?: NonNullable<T[K]> };
  for (const key in fields) if (fields[key] == null) delete given[key];
  return given;
}
