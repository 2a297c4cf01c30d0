/**
 * Intervals of wsh that a test would otherwise have to wait for, in ms. A test's instance gets shorter ones,
 * so that half a minute becomes a second. One internal variable, which is not a setting, contains them; every
 * process of that instance inherits it.
 */

const product = {
  /** Delay from a pane's last output, or a layout's first change, to the write of its checkpoint. */
  checkpointRest: 1_000,
  /** Longest time that a change remains unwritten during output. */
  checkpointLongest: 30_000,
  /** Minimum time between writes of a layout for changed drawings: a clock in a panel changes every second. */
  checkpointDrawn: 6_000,
  /** Run time after which a resumed command line counts as running, unless it has ended well before. */
  resumed: 10_000,
  /** Pause that counts as the end of work: longer than a person's pause within a series of commands. */
  memoryQuiet: 3_000,
  /** Pause after which some 5 MB of compiled code are discarded as well. */
  memoryLeft: 60_000,
  /** Time since a person last viewed a session: a running program keeps it this long. */
  seen: 24 * 3_600_000,
  /** Interval between pings to the other end of a link. */
  peerPing: 5_000,
  /**
   * Time from the loss of a connection to another machine until retries end: a login and a server's start
   * take that long.
   */
  peerAgain: 15_000,
  /** Time from sending a request to another machine until it can no longer begin there. */
  peerBegin: 20_000,
  /** Interval between heartbeats of a fleet's machine at rest. */
  fleetBeat: 5_000,
  /** Time from an undelivered notice to its second attempt; the third follows after ten times that. */
  noticeRetry: 2_000,
  /** Time from the end of an owner to the end of its bound session: a host may restart its MCP client. */
  ownerGrace: 60_000,
  /** Interval between checks whether that owner's process runs. */
  ownerLook: 10_000,
  /** Lifetime of a question for a password: as long as sudo waits for one. */
  passwordAsked: 300_000,
  /**
   * Interval between checks of config.toml when it is not watched: the longest that a person waits. A check
   * takes about a millisecond (measured: 0.01 % of a processor, 16 wake-ups in a minute).
   */
  configPoll: 10_000,
};

export type Intervals = Readonly<typeof product>;

export const intervals: Intervals = { ...product, ...shorterIntervals(process.env.WSH_TEST_INTERVALS) };

/** The known intervals that are shorter than the default: no variable can make wsh slower. */
function shorterIntervals(text: string | undefined): Partial<Intervals> {
  if (text === undefined) return {};
  const found: unknown = JSON.parse(text);
  if (typeof found !== "object" || found === null) return {};
  const isShorter = ([name, ms]: [string, unknown]): boolean =>
    typeof ms === "number" && ms > 0 && ms < (Object.entries(product).find(([known]) => known === name)?.[1] ?? 0);
  return Object.fromEntries(Object.entries(found).filter(isShorter));
}
