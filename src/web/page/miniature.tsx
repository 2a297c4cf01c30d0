/**
 * The last rows of a session as plain text, at most one picture a second, and only while it is in sight. All miniatures
 * share the control socket; a session's subscription ends when nobody looks at it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Workspace } from "./workspace.ts";

/** Least time between two pictures, in ms. */
const INTERVAL_MS = 1_000;
/** Rows that are shown: a few that can be read say more than a screen that cannot. */
const ROWS = 5;

export function Miniature({ session, workspace }: { readonly session: string; readonly workspace: Workspace }) {
  const element = useRef<HTMLPreElement>(null);
  const [isSeen, setSeen] = useState(false);
  const connection = workspace.connection.value.state;
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting === true));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!isSeen || connection !== "live") return;
    return workspace.miniatures.watch(session, INTERVAL_MS);
  }, [isSeen, connection, session, workspace]);
  const rows = workspace.miniatures.rows.value.get(session) ?? [];
  return (
    <pre class="miniature" ref={element} aria-hidden="true">
      {lastRows(rows).join("\n")}
    </pre>
  );
}

/** The last rows that are not blank. */
function lastRows(rows: readonly string[]): readonly string[] {
  return rows.filter((row) => row.trim() !== "").slice(-ROWS);
}
