/** A signal that counts its listeners. */
export interface ListenedSignal {
  readonly signal: AbortSignal;
  abort(): void;
  listeners(): number;
}

export function listenedSignal(): ListenedSignal {
  const controller = new AbortController();
  const { signal } = controller;
  const known = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
    known.add(listener);
    add(type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    known.delete(listener);
    remove(type, listener);
  };
  return { signal, abort: () => controller.abort(), listeners: () => known.size };
}
