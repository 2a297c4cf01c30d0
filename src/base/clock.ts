/** Time and timers behind one interface, so that a test can supply both. */

export interface Clock {
  /** Milliseconds that never jump back. */
  now(): number;
  /** Unix time in milliseconds. */
  wall(): number;
  /** Runs `fire` once after `ms`; disposing cancels. */
  after(ms: number, fire: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
