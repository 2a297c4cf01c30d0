/** Where this browser keeps its device key: IndexedDB, which other ports of the same machine cannot open. */

export interface Kept {
  readonly device: string;
  /** Not extractable: it signs, and nothing reads it. */
  readonly key: CryptoKey;
  /** Its public half, in base64: by that the server knows this browser again. */
  readonly publicKey: string;
}

const DATABASE = "wsh";
const STORE = "device";
const OWN = "own";

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("this browser keeps nothing"));
  });
}

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await opened();
  try {
    return await new Promise((resolve, reject) => {
      const request = act(database.transaction(STORE, mode).objectStore(STORE));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("this browser keeps nothing"));
    });
  } finally {
    database.close();
  }
}

export async function keptDevice(): Promise<Kept | null> {
  const kept: unknown = await inStore("readonly", (store) => store.get(OWN)).catch(() => null);
  if (typeof kept !== "object" || kept === null || !("device" in kept) || !("key" in kept)) return null;
  const { device, key } = kept;
  const publicKey = "publicKey" in kept ? String(kept.publicKey) : "";
  return typeof device === "string" && key instanceof CryptoKey ? { device, key, publicKey } : null;
}

export async function keep(kept: Kept): Promise<void> {
  await inStore("readwrite", (store) => store.put(kept, OWN));
}

export async function forget(): Promise<void> {
  await inStore("readwrite", (store) => store.delete(OWN)).catch(() => undefined);
}
