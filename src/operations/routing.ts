/**
 * The subject of an operation on a session with several panes: one pane, or the whole session. Pure, and by names
 * alone, so that routing need not load the schemas; a test compares it with the table.
 */

/** Drawing is clipped to a pane if the target is one, and stored with it. */
const drawing = /^(overlay|panel|element|focus|screen_mode)\./;
/** Operations on the whole session. */
const whole =
  /^(session\.(get|update|kill|detach|clients|resize|restart|environment)|input\.(mode|capture|release|keys)|terminal\.show|ask(\..*)?|(pane|popup|window|layout)\..*|buffer\.(?!paste$).*)$/;

/** @param target as the caller wrote it; absent: the session as a whole */
export function isForPane(operation: string, target?: string): boolean {
  if (drawing.test(operation)) return target !== undefined && addressesPane(target);
  return !whole.test(operation);
}

/** The target of an operation that an event triggers: the event's pane or window, or else its session. */
export function subjectOf(
  operation: string,
  {
    pane,
    window,
    session_id,
  }: { readonly pane?: string | undefined; readonly window?: string | undefined; readonly session_id: string },
): string {
  if (/^(window|layout)\./.test(operation)) return window ?? pane ?? session_id;
  const isPanes = /^(pane|popup)\./.test(operation) || isForPane(operation, pane);
  return isPanes ? (pane ?? window ?? session_id) : session_id;
}

/** Whether a target names a pane, not only the session that has it. */
export function addressesPane(target: string): boolean {
  return /^@\d/.test(target) || /^[^@][^:]*:.*\.\d+$/.test(target);
}

/** If the target leaves open which of several panes is meant, the answer names the pane. */
export function withPane(result: unknown, pane: string): unknown {
  const takesFacts = typeof result === "object" && result !== null && !Array.isArray(result);
  return takesFacts ? { ...result, pane } : result;
}

/** Operations of the server, by name. */
const ofServer = /^(servers?|sessions|ports|history|checkpoint|events)\.|\.any$|^exec\.fresh$/;

/** Whether the server handles it, for any session. */
export function isForServer(operation: string): boolean {
  return ofServer.test(operation);
}
