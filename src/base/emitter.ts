/**
 * A typed list of listeners. `Events` names every event and the type of its value. Emitting or listening to any other
 * event does not compile, so an event map must have no index signature. Listeners run synchronously inside `emit`, in
 * the order in which they were added; an exception reaches the emitter's caller. The function that `on` returns removes
 * the listener, also while its event is being emitted.
 */
type Listeners<Events> = { [K in keyof Events]?: Set<(value: Events[K]) => void> };

export class Emitter<Events extends object> {
  private readonly listeners: Listeners<Events> = {};

  /** @returns a function that removes the listener */
  on<K extends keyof Events>(name: K, listener: (value: Events[K]) => void): () => void {
    const known: Set<(value: Events[K]) => void> = this.listeners[name] ?? new Set();
    this.listeners[name] = known;
    known.add(listener);
    return () => void known.delete(listener);
  }

  emit<K extends keyof Events>(name: K, value: Events[K]): void {
    for (const listener of this.listeners[name] ?? []) listener(value);
  }

  count(name: keyof Events): number {
    return this.listeners[name]?.size ?? 0;
  }
}
