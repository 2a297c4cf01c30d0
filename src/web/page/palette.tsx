/** The palette: finds any action by a few letters. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { actionsOf, type PageAction } from "./actions.ts";
import { bufferActions, loadBuffers } from "./buffers.ts";
import { score } from "./fuzzy.ts";
import { loadOperations, operations } from "./operations.ts";
import type { Workspace } from "./workspace.ts";

/** Maximum listed entries: nobody reads further. */
const LISTED = 60;

export function Palette({ workspace, query: first }: { readonly workspace: Workspace; readonly query: string }) {
  const [query, setQuery] = useState(first);
  const [at, setAt] = useState(0);
  useEffect(() => void loadOperations(workspace.server), [workspace]);
  useEffect(() => loadBuffers(workspace), [workspace]);
  const copied = bufferActions(workspace);
  const described = operations.value;
  const all = useMemo<PageAction[]>(
    () => [
      ...actionsOf(workspace),
      ...copied,
      ...described.map(({ method, path, summary }) => ({
        name: summary,
        detail: `${method} ${path}`,
        isOperation: true,
        isDestructive: method === "DELETE" || /\/(clear|restart|respawn|kill|close|stop|shutdown)$/.test(path),
        run: () => (workspace.open.value = { kind: "operation", name: `${method} ${path}` }),
      })),
    ],
    [workspace, described, copied],
  );
  const found = useMemo(() => matching(all, query), [all, query]);
  const run = (action: PageAction | undefined): void => {
    if (action === undefined) return;
    workspace.close();
    action.run();
  };
  return (
    <div class="palette">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${at}`}
        aria-label="Action"
        placeholder="Session, window or action"
        value={query}
        onInput={({ currentTarget }) => {
          setQuery(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") run(found[at]);
          else if (event.key === "ArrowDown" || (event.ctrlKey && event.key === "n"))
            setAt(Math.min(at + 1, found.length - 1));
          else if (event.key === "ArrowUp" || (event.ctrlKey && event.key === "p")) setAt(Math.max(at - 1, 0));
          else return;
          event.preventDefault();
        }}
      />
      <div id="palette-list" class="matches" role="listbox" aria-label="Matches">
        {found.map((action, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field has the focus and handles the keys
          <div
            key={`${action.name} ${action.detail}`}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            ref={(element) => {
              if (index === at) element?.scrollIntoView({ block: "nearest" });
            }}
            onPointerMove={() => setAt(index)}
            onClick={() => run(action)}
          >
            <span>{action.name}</span>
            <small>{action.detail}</small>
            {action.key !== undefined && <kbd>{action.key}</kbd>}
          </div>
        ))}
        {found.length === 0 && <div class="none">Nothing fits.</div>}
      </div>
    </div>
  );
}

/**
 * The server's operations follow the page's own entries, and match only when their own text contains each typed word;
 * entries that end or discard something come last, unless their own first word is typed.
 */
function matching(all: readonly PageAction[], query: string): PageAction[] {
  if (query.trim() === "") {
    const own = all.filter(({ isOperation }) => isOperation !== true);
    return own.toSorted((a, b) => Number(a.isDestructive === true) - Number(b.isDestructive === true)).slice(0, LISTED);
  }
  const words = query.trim().toLowerCase().split(/\s+/);
  const isMeant = ({ name }: PageAction): boolean => name.toLowerCase().startsWith(words[0] ?? "");
  const scored = all.flatMap((action) => {
    const text = `${action.name} ${action.detail}`;
    if (action.isOperation === true && !words.every((word) => text.toLowerCase().includes(word))) return [];
    const own = score(query, text);
    const byName = score(query, action.name);
    const sum = (own ?? 0) + (byName ?? 0);
    const isBehind = action.isDestructive === true && !isMeant(action);
    return own === null ? [] : [{ action, isBehind, score: action.isOperation === true ? sum / 4 : sum }];
  });
  return scored
    .sort((a, b) => Number(a.isBehind) - Number(b.isBehind) || b.score - a.score)
    .slice(0, LISTED)
    .map(({ action }) => action);
}
