/** The fields that have a value, as messages and options are written: an absent field rather than an undefined one. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = { ...fields } as { [K in keyof T]?: Exclude<T[K], undefined> };
  for (const key in fields) if (fields[key] === undefined) delete given[key];
  return given;
}

/** As `defined`, without the fields that are null either. */
export function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const given = { ...fields } as { [K in keyof T]?: NonNullable<T[K]> };
  for (const key in fields) if (fields[key] == null) delete given[key];
  return given;
}
