/**
 * Intervals of wsh that a test would otherwise wait out, in ms. An instance of a test is given shorter ones, so that it
 * shows in a second what takes half a minute: they come in one internal variable, which is no setting, and are inherited
 * by every process of that instance.
 */

const product = {
  /** From the last output of a pane, or the first change of a layout, to the writing of its checkpoint. */
  checkpointRest: 1_000,
  /** Longest that something stays unwritten while a pane prints on. */
  checkpointLongest: 30_000,
  /** Least time from one writing of a layout to the next for what is drawn: a clock in a panel changes every second. */
  checkpointDrawn: 6_000,
  /** A line that came back counts as resumed once it has run this long, or has ended well. */
  resumed: 10_000,
  /** Pause that counts as the end of the work: longer than a person thinks between two commands of a series. */
  memoryQuiet: 3_000,
  /** Pause after which some 5 MB of compiled code are discarded, too. */
  memoryLeft: 60_000,
  /** Since a person had a session before them: so long a running program keeps it. */
  seen: 24 * 3_600_000,
  /** From one question to the other end of a link whether it is there to the next. */
  peerPing: 5_000,
  /** From the loss of a connection to another machine to giving it up: a login and a server's start take that long. */
  peerAgain: 15_000,
  /** From sending a request to another machine to the moment from which on it is not begun there. */
  peerBegin: 20_000,
  /** From one heartbeat of a fleet's machine at rest to the next. */
  fleetBeat: 5_000,
  /** From a notice that nobody took to its second try; the third comes ten times later. */
  noticeRetry: 2_000,
  /** From the end of the owner that a session is bound to, to its own end: a host starts its MCP client again. */
  ownerGrace: 60_000,
  /** Between two looks whether that owner's process runs. */
  ownerLook: 10_000,
};

export type Intervals = Readonly<typeof product>;

export const intervals: Intervals = { ...product, ...given(process.env.WSH_TEST_INTERVALS) };

/** Those that are known, and shorter: nothing of wsh gets slower by a variable. */
function given(text: string | undefined): Partial<Intervals> {
  if (text === undefined) return {};
  const found: unknown = JSON.parse(text);
  if (typeof found !== "object" || found === null) return {};
  const isShorter = ([name, ms]: [string, unknown]): boolean =>
    typeof ms === "number" && ms > 0 && ms < (Object.entries(product).find(([known]) => known === name)?.[1] ?? 0);
  return Object.fromEntries(Object.entries(found).filter(isShorter));
}
