/**
 * A typed list of listeners. `Events` names every event and the type of its value: emitting or listening to another one
 * does not compile, so an event map must have no index signature. Listeners run in the order in which they were added,
 * at once, inside `emit`; what one throws reaches the emitter's caller. A listener ends by the function that `on`
 * returned, also while its event is being emitted.
 */
type Listeners<Events> = { [K in keyof Events]?: Set<(value: Events[K]) => void> };

export class Emitter<Events extends object> {
  private readonly listeners: Listeners<Events> = {};

  /** @returns what ends the listener */
  on<K extends keyof Events>(name: K, listener: (value: Events[K]) => void): () => void {
    const known: Set<(value: Events[K]) => void> = this.listeners[name] ?? new Set();
    this.listeners[name] = known;
    known.add(listener);
    return () => void known.delete(listener);
  }

  emit<K extends keyof Events>(name: K, value: Events[K]): void {
    for (const listener of this.listeners[name] ?? []) listener(value);
  }

  /** Listeners of one event. */
  count(name: keyof Events): number {
    return this.listeners[name]?.size ?? 0;
  }
}
