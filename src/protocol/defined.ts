/** The fields that have a value, as messages and options are written: an absent field rather than an undefined one. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = { ...fields } as { [K in keyof T]?: Exclude<T[K], undefined> };
  for (const key in fields) if (fields[key] === undefined) delete given[key];
  return given;
}
