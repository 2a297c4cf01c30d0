/**
 * The fields of the page's address, such as `#session=dev,build`. They are read unchanged, since a session's
 * name may contain any character, also a comma.
 */

function fields(): string[] {
  return location.hash.slice(1).split("&");
}

/** The text of a field, still encoded; null: there is none. */
export function addressField(name: string): string | null {
  return (
    fields()
      .find((field) => field.startsWith(`${name}=`))
      ?.slice(name.length + 1) ?? null
  );
}

/** Reads a field and removes it from the address. */
export function takeFromAddress(name: string): string | null {
  const value = addressField(name);
  if (value === null) return null;
  const rest = fields().filter((field) => !field.startsWith(`${name}=`));
  history.replaceState(null, "", rest.length === 0 ? location.pathname : `#${rest.join("&")}`);
  return decoded(value);
}

/** The text that was encoded; an address typed by hand may not be. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
