/** The palette: finds any action by a few letters. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { fuzzyRanked, hasWords } from "../../protocol/fuzzy.ts";
import { actionsOf, type PageAction } from "./actions.ts";
import { bufferActions, loadBuffers } from "./buffers.ts";
import { loadOperations, operations } from "./operations.ts";
import type { Workspace } from "./workspace.ts";

/** Maximum number of listed entries: nobody reads further. */
const MAX_ENTRIES = 60;

export function Palette({ workspace, query: first }: { readonly workspace: Workspace; readonly query: string }) {
  const [query, setQuery] = useState(first);
  const [selectedIndex, setSelectedIndex] = useState(0);
  useEffect(() => void loadOperations(workspace.server), [workspace]);
  useEffect(() => loadBuffers(workspace), [workspace]);
  const copied = bufferActions(workspace);
  const serverOperations = operations.value;
  const { isReadOnly } = workspace;
  const allowed = isReadOnly.value ? serverOperations.filter(({ method }) => method === "GET") : serverOperations;
  const actions = useMemo<PageAction[]>(
    () => [
      ...actionsOf(workspace),
      ...copied,
      ...allowed.map(({ method, path, summary }) => ({
        name: summary,
        detail: `${method} ${path}`,
        isOperation: true,
        isDestructive: method === "DELETE" || /\/(clear|restart|respawn|kill|close|stop|shutdown)$/.test(path),
        run: () => (workspace.openDialog.value = { kind: "operation", name: `${method} ${path}` }),
      })),
    ],
    [workspace, allowed, copied],
  );
  const matches = useMemo(() => matching(actions, query), [actions, query]);
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
        aria-activedescendant={`palette-${selectedIndex}`}
        aria-label="Action"
        placeholder="Session, window or action"
        value={query}
        onInput={({ currentTarget }) => {
          setQuery(currentTarget.value);
          setSelectedIndex(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") run(matches[selectedIndex]);
          else if (event.key === "ArrowDown" || (event.ctrlKey && event.key === "n"))
            setSelectedIndex(Math.min(selectedIndex + 1, matches.length - 1));
          else if (event.key === "ArrowUp" || (event.ctrlKey && event.key === "p"))
            setSelectedIndex(Math.max(selectedIndex - 1, 0));
          else return;
          event.preventDefault();
        }}
      />
      <div id="palette-list" class="matches" role="listbox" aria-label="Matches">
        {matches.map((action, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text field has the focus and handles the keys
          <div
            key={`${action.name} ${action.detail}`}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === selectedIndex}
            ref={(element) => {
              if (index === selectedIndex) element?.scrollIntoView({ block: "nearest" });
            }}
            onPointerMove={() => setSelectedIndex(index)}
            onClick={() => run(action)}
          >
            <span>{action.name}</span>
            <small>{action.detail}</small>
            {action.key !== undefined && <kbd>{action.key}</kbd>}
          </div>
        ))}
        {matches.length === 0 && <div class="none">No matches.</div>}
      </div>
    </div>
  );
}

/**
 * The server's operations follow the page's own entries, and match only when their own text contains each typed word;
 * entries that end or discard something come last, unless their own first word is typed.
 */
function matching(actions: readonly PageAction[], query: string): PageAction[] {
  const [first = ""] = query.trim().toLowerCase().split(/\s+/);
  const textOf = ({ name, detail }: PageAction): string => `${name} ${detail}`;
  const candidates = actions.filter(
    (action) => action.isOperation !== true || (first !== "" && hasWords(textOf(action), query)),
  );
  const isNamedFirst = ({ name }: PageAction): boolean => first !== "" && name.toLowerCase().startsWith(first);
  const groupOf = (action: PageAction): number =>
    action.isDestructive === true && !isNamedFirst(action) ? 2 : action.isOperation === true ? 1 : 0;
  return fuzzyRanked(candidates, query, ({ name }) => name, textOf)
    .sort((a, b) => groupOf(a) - groupOf(b))
    .slice(0, MAX_ENTRIES);
}
