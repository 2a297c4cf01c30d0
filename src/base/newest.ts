/** Maps that remember a limited number of entries, least recently set first. */

/** Sets an entry and makes it the newest; beyond `max` entries, the oldest one is removed. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
