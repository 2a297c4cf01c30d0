/** The dialog of keys: those of the page, and those of terminals according to the current settings. */
import { signal } from "@preact/signals";
import type { ViewMessage } from "../../protocol/view.ts";
import { useWordSeparators } from "../../protocol/word-separators.ts";

type KeysInForce = Extract<ViewMessage, { type: "keys" }>;
type Table = KeysInForce["tables"][number];

/** From a session's latest message; empty before it. */
const inForce = signal<Pick<KeysInForce, "prefix" | "tables">>({ prefix: "", tables: [] });

/** Applies a session's message about its keys and the characters between words. */
export function keysChanged({ prefix, tables, word_separators: separators }: KeysInForce): void {
  inForce.value = { prefix, tables };
  useWordSeparators(separators);
}

const pageKeys: readonly (readonly [string, string])[] = [
  ["Ctrl+Shift+P, Ctrl+Shift+Space", "palette"],
  ["Ctrl+Shift+F", "find"],
  ["Ctrl+Shift+C", "copy"],
  ["Ctrl+Shift+V, Shift+Insert", "paste"],
  ["Ctrl+Shift+Up, Down", "previous, next command"],
  ["Ctrl+Shift+L", "leave the terminal for the list of sessions"],
  ["Shift+Page Up, Page Down", "scroll back"],
];

export function Keys() {
  const { prefix, tables } = inForce.value;
  return (
    <div class="keys">
      <h2>Keys of the page</h2>
      <Rows rows={pageKeys.map(([key, description]) => ({ keys: [key], description }))} />
      {tables.map(({ name, rows }) => (
        <div key={name}>
          <h2>{titleOf(name, prefix)}</h2>
          <Rows rows={rows} />
        </div>
      ))}
      {tables.length === 0 && <p class="quiet">In a terminal, its prefix key and ? show the others.</p>}
    </div>
  );
}

function Rows({ rows }: Pick<Table, "rows">) {
  return (
    <dl>
      {rows.map(({ keys, description }) => (
        <div key={description}>
          <dt>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{description}</dd>
        </div>
      ))}
    </dl>
  );
}

function titleOf(table: string, prefix: string | null): string {
  if (table === "prefix")
    return prefix === null ? "After the prefix: no prefix key is set" : `After the prefix, ${prefix}`;
  return table === "root" ? "Without the prefix" : table === "copy" ? "In copy mode" : `In the table ${table}`;
}
