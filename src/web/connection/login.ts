/**
 * How this page gets its bearer. A link carries what it needs in the fragment, which no server sees; it is taken out of
 * the address at once, so that neither history nor a copied address has it.
 */
import type { Server } from "./server.ts";

/** Reads a field of the fragment and takes it out of the address. */
function takeFromAddress(name: string): string | null {
  const fields = new URLSearchParams(location.hash.slice(1));
  const value = fields.get(name);
  if (value === null) return null;
  fields.delete(name);
  const rest = fields.toString();
  history.replaceState(null, "", rest === "" ? location.pathname : `#${rest}`);
  return value;
}

/** Prepares the server's login from the page's address. */
export function prepareLogin(server: Server): void {
  const token = takeFromAddress("t");
  if (token !== null) server.login = () => Promise.resolve(token);
}
