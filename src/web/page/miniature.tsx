/**
 * The last rows of a session as plain text, at most one picture a second, and only while visible. All miniatures share
 * the control socket; a session's subscription ends when no miniature shows it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Workspace } from "./workspace.ts";

/** Minimum interval between two pictures, in ms. */
const INTERVAL_MS = 1_000;

export function Miniature({ session, workspace }: { readonly session: string; readonly workspace: Workspace }) {
  const element = useRef<HTMLPreElement>(null);
  const [isSeen, setSeen] = useState(false);
  const { miniatures } = workspace;
  const streams = isSeen && !miniatures.isHidden.value && workspace.connection.value.state === "live";
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting === true));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => () => miniatures.forget(session), [session, miniatures]);
  useEffect(() => (streams ? miniatures.watch(session, INTERVAL_MS) : undefined), [streams, session, miniatures]);
  return (
    <pre class="miniature" ref={element} aria-hidden="true">
      {miniatures.text(session)}
    </pre>
  );
}
