/** Storage of this browser's device keys: IndexedDB, which other ports of the same machine cannot open. */

export interface StoredDevice {
  readonly device: string;
  /** Not extractable: it can sign, but nobody can read it. */
  readonly key: CryptoKey;
  /** Its public half, in base64, by which the server recognises this browser. */
  readonly publicKey: string;
}

const DATABASE = "wsh";
const STORE = "device";
/** Holder of a key: this browser's person, or a guest, whose links share one key. */
export type DeviceHolder = "own" | "guest";

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("this browser does not store data"));
  });
}

async function withStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await openDatabase();
  try {
    return await new Promise((resolve, reject) => {
      const request = act(database.transaction(STORE, mode).objectStore(STORE));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("this browser does not store data"));
    });
  } finally {
    database.close();
  }
}

export async function loadDevice(holder: DeviceHolder): Promise<StoredDevice | null> {
  const kept: unknown = await withStore("readonly", (store) => store.get(holder)).catch(() => null);
  if (typeof kept !== "object" || kept === null || !("device" in kept) || !("key" in kept)) return null;
  const { device, key } = kept;
  const publicKey = "publicKey" in kept ? String(kept.publicKey) : "";
  return typeof device === "string" && key instanceof CryptoKey ? { device, key, publicKey } : null;
}

export async function saveDevice(holder: DeviceHolder, kept: StoredDevice): Promise<void> {
  await withStore("readwrite", (store) => store.put(kept, holder));
}

export async function deleteDevice(holder: DeviceHolder): Promise<void> {
  await withStore("readwrite", (store) => store.delete(holder)).catch(() => undefined);
}
