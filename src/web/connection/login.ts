/**
 * Obtains the page's bearer (docs/security.md). An address carries a code or a token in the fragment, which no server
 * sees; it is removed from the address at once, so that a copied address does not contain it. A code is exchanged for a
 * device: a key that stays in this browser, cannot be read, and signs the server's challenge at each load. The
 * resulting bearer is valid for minutes and kept in memory. For a reload, a guest's address names the device of its
 * link instead.
 */
import { addressField, takeFromAddress } from "./address.ts";
import { type DeviceHolder, deleteDevice, loadDevice, type StoredDevice, saveDevice } from "./device-store.ts";
import { Refusal, type Server } from "./server.ts";

type LoginMethod = "token" | "share" | "device" | "none";
/** Field of the fragment with the device that a link has registered in this browser: not a secret. */
const GUEST = "guest";

const algorithm = { name: "ECDSA", namedCurve: "P-256" } as const;

/** The device of the link that opened this tab; null: there was none. */
export function guestDevice(): string | null {
  return addressField(GUEST);
}

/** Reloads when a login address is entered in a tab with the page: only the fragment changes then. */
export function reloadForLogin(event: HashChangeEvent): void {
  if (["t", "s", "c", GUEST].every((name) => addressField(name) === null)) return;
  // No other listener may change the address before it is read.
  event.stopImmediatePropagation();
  location.reload();
}

/** Prepares the login from the page's address, or from this browser's device. */
export function prepareLogin(server: Server): LoginMethod {
  const token = takeFromAddress("t");
  const shared = takeFromAddress("s");
  const code = takeFromAddress("c");
  if (token !== null) {
    server.login = () => Promise.resolve(token);
    return "token";
  }
  if (shared !== null || guestDevice() !== null) {
    server.login = () => guestSession(server, shared);
    return "share";
  }
  let unused = code;
  server.login = async () => {
    if (unused !== null) {
      if (globalThis.crypto?.subtle === undefined) throw insecure();
      const own = unused;
      unused = null;
      // Two tabs share one browser's device.
      await navigator.locks.request("wsh login", () => register(server, own));
    }
    const kept = await loadDevice("own");
    return kept === null ? null : createBearer(server, "own", kept);
  };
  return code === null ? "none" : "device";
}

/**
 * A bearer for a guest. The code remains valid for the browser that used it: repeating the request registers the same
 * browser.
 */
async function guestSession(server: Server, code: string | null): Promise<string | null> {
  if (globalThis.crypto?.subtle === undefined) throw insecure();
  const own = await navigator.locks.request("wsh login", async () => {
    const kept = await loadDevice("guest");
    if (kept !== null || code === null) return kept;
    const made = { device: "", ...(await newKey()) };
    // Stored before the registration: a lost answer must not waste the link.
    await saveDevice("guest", made);
    return made;
  });
  if (own === null) return null;
  if (guestDevice() === null && code !== null) {
    const { device } = await server.post<{ device: string }>("auth/device", { code, key: own.publicKey });
    const rest = location.hash.slice(1);
    history.replaceState(null, "", `#${GUEST}=${device}${rest === "" ? "" : `&${rest}`}`);
  }
  return createBearer(server, "guest", { ...own, device: guestDevice() ?? "" });
}

/** The error of a page that may not use keys. */
function insecure(): Refusal {
  return new Refusal(
    403,
    "insecure",
    "this address is not secure, so browsers do not create keys for it: use TLS, or ssh -L",
    "",
  );
}

/** @throws Refusal of the server */
async function register(server: Server, code: string): Promise<void> {
  const kept = await loadDevice("own");
  const isKnown = kept !== null && kept.publicKey !== "";
  const own = isKnown ? kept : await newKey();
  try {
    const { device } = await server.post<{ device: string }>("auth/device", { code, key: own.publicKey });
    await saveDevice("own", { ...own, device });
  } catch (thrown) {
    // The code was already used: the key may still be valid.
    if (!isKnown) throw thrown;
  }
}

async function newKey(): Promise<Omit<StoredDevice, "device">> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  return { key: privateKey, publicKey: base64(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))) };
}

/** A bearer for a device of this browser. */
async function createBearer(server: Server, holder: DeviceHolder, { device, key }: StoredDevice): Promise<string> {
  try {
    const { nonce } = await server.post<{ nonce: string }>("auth/challenge", { device });
    const text = new TextEncoder().encode(`wsh login\n${location.origin}\n${device}\n${nonce}`);
    const signature = base64(new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, text)));
    const { token } = await server.post<{ token: string }>("auth/session", { device, nonce, signature });
    return token;
  } catch (thrown) {
    // Revoked: a useless key is deleted. A guest's may be valid for another link.
    if (holder === "own" && thrown instanceof Refusal && thrown.code === "auth_invalid") await deleteDevice(holder);
    throw thrown;
  }
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
