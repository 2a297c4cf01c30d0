/**
 * The part of a program's environment that is saved, and the environment of a restored program. Variables with
 * names that sound like secrets, and addresses with a password, are never written. Sockets and displays belong to
 * a login, so they are taken from the restoring process. Pure.
 */
type Environment = Readonly<Record<string, string>>;

/** Matches names of secrets by any part of the name. */
const secretName = /TOKEN|KEY|SECRET|PASS|_PWD|CREDENTIAL|AUTH|BEARER|COOKIE|PRIVATE|SESSION_ID|JWT|DSN|(^|_)PAT(_|$)/i;
/** An address with a user's password, such as postgres://me:secret@db. */
const addressWithPassword = /:\/\/[^\s/@:]*:[^\s/@]+@/;
/** Names whose values are valid only in the login that set them. */
const loginVariables = new Set([
  "SSH_AUTH_SOCK",
  "SSH_AGENT_PID",
  "SSH_CONNECTION",
  "SSH_CLIENT",
  "SSH_TTY",
  "GPG_AGENT_INFO",
  "GNOME_KEYRING_CONTROL",
  "KRB5CCNAME",
  "DBUS_SESSION_BUS_ADDRESS",
  "DBUS_STARTER_ADDRESS",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
  "XDG_SESSION_ID",
  "INVOCATION_ID",
  "JOURNAL_STREAM",
  "NOTIFY_SOCKET",
  "WSH_SOCKET",
  "WSH_NOFILE",
]);
/** Longest saved value, in characters: longer ones are data that a program passes on. */
const MAX_VALUE = 8 * 1024;
/** Maximum saved size of an environment, in characters. */
const MAX_TOTAL = 128 * 1024;

/** The part of an environment that may be written. */
export function storableEnvironment(env: Environment): Record<string, string> {
  const saved: Record<string, string> = {};
  let total = 0;
  for (const [name, value] of Object.entries(env)) {
    if (isUnstorable(name, value) || value.length > MAX_VALUE) continue;
    total += name.length + value.length;
    if (total > MAX_TOTAL) break;
    saved[name] = value;
  }
  return saved;
}

/** The same for variables given to one program; undefined: there are none. */
export function storableVariables(given: Environment | null | undefined): Record<string, string> | undefined {
  const storable = storableEnvironment(given ?? {});
  return Object.keys(storable).length === 0 ? undefined : storable;
}

/** The saved environment, with the login's variables taken from the restoring process. */
export function restoredEnvironment(saved: Environment, restorer: Environment): Record<string, string> {
  const fromRestorer = Object.entries(restorer).filter(([name, value]) => isUnstorable(name, value));
  return { ...storableEnvironment(saved), ...Object.fromEntries(fromRestorer) };
}

function isUnstorable(name: string, value: string): boolean {
  return loginVariables.has(name) || secretName.test(name) || addressWithPassword.test(value);
}
