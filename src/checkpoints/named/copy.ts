/** Copies a saved session under new ids, to run beside the original: every id in its files is replaced. */
import fs from "node:fs";
import { join } from "node:path";
import type { Instance } from "../../instance/paths.ts";
import { paneId } from "../../protocol/names.ts";
import { takeIds } from "../../registry/register.ts";
import { readBlocks } from "../files/blocks.ts";
import { withUnfinishedFolder } from "../files/named.ts";
import { readHistory, readPane, type StoredPane } from "../files/part-reader.ts";
import { PartWriter } from "../files/part-writer.ts";
import { panePart, stateFile } from "../files/paths.ts";
import type { LayoutRecord } from "../files/record.ts";
import type { CrashedSession } from "../files/sessions.ts";

/** @param use gets the copy, whose folder is removed afterwards @throws WshError session_create_failed, and of `use` */
export async function withCopy<T>(
  instance: Instance,
  stored: CrashedSession,
  use: (copy: CrashedSession) => Promise<T>,
): Promise<T> {
  const windows = stored.layout?.windows ?? [stored.session.window];
  const ids = await takeIds(instance, { panes: stored.panes.length, windows: windows.length });
  const panes = new Map(stored.panes.map(({ pane }, index) => [pane, ids.panes[index] ?? 0]));
  const newWindows = new Map(windows.map((window, index) => [window, ids.windows[index] ?? 0]));
  const session = {
    ...stored.session,
    id: ids.session,
    window: newWindows.get(stored.session.window) ?? ids.windows[0] ?? 0,
    created_at: Date.now(),
  };
  return withUnfinishedFolder(instance, ids.session, async (_, directory) => {
    for (const { pane, directory: from } of stored.panes) {
      await copyPane(readPane(from, pane), from, directory, panes.get(pane) ?? 0, session);
    }
    const layout = stored.layout === null ? null : copyLayout(stored.layout, { session, panes, windows: newWindows });
    const records = stored.panes.map((record) => ({
      ...record,
      ...noIssuedNumbers,
      directory,
      session,
      pane: panes.get(record.pane) ?? 0,
    }));
    return use({ ...stored, number: ids.session, directory, session, layout, panes: records, left_out: [] });
  });
}

/** A pane under a new id has issued no numbers. */
const noIssuedNumbers = { numbers: undefined, places: undefined };

async function copyPane(
  stored: StoredPane,
  from: string,
  to: string,
  pane: number,
  session: CrashedSession["session"],
): Promise<void> {
  const { record, generation } = stored;
  const { blocks } = readBlocks(fs.readFileSync(join(from, stateFile(panePart(record.pane), generation))));
  const { first, lines } = readHistory(from, stored);
  const writer = new PartWriter(to, panePart(pane));
  const source =
    record.history === null
      ? null
      : {
          first,
          end: first + lines.length,
          lines: (at: number, end: number) => lines.slice(at - first, end - first).map((line) => line ?? ""),
        };
  try {
    await writer.write(source, (history) => [
      { kind: "about", text: JSON.stringify({ ...record, ...noIssuedNumbers, pane, session, history }) },
      ...blocks.filter(({ kind }) => kind !== "about"),
    ]);
  } finally {
    writer.finish();
  }
}

interface NewIds {
  readonly session: CrashedSession["session"];
  readonly panes: ReadonlyMap<number, number>;
  readonly windows: ReadonlyMap<number, number>;
}

function copyLayout(layout: LayoutRecord, { session, panes, windows }: NewIds): LayoutRecord {
  const tree = layout.tree as { readonly windows: unknown };
  return {
    ...layout,
    session,
    panes: layout.panes.flatMap((pane) => panes.get(pane) ?? []),
    windows: [...windows.values()],
    // No process had the copy before.
    tree: {
      ...tree,
      host: 0,
      session: session.id,
      created_at: session.created_at,
      windows: replaceIds(tree.windows, panes, windows),
    },
  };
}

/** Windows and panes with panes (`@7`, also as keys) and windows (`id` and `recent` of numbers) replaced. */
function replaceIds(value: unknown, panes: NewIds["panes"], windows: NewIds["windows"]): unknown {
  const replacePaneId = (text: string): string => {
    const number = /^@(\d+)$/.exec(text)?.[1];
    const newNumber = number === undefined ? undefined : panes.get(Number(number));
    return newNumber === undefined ? text : paneId(newNumber);
  };
  if (typeof value === "string") return replacePaneId(value);
  if (Array.isArray(value)) return value.map((each) => replaceIds(each, panes, windows));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (key === "title" || key === "name") return [key, each];
      if (key === "id" && typeof each === "number") return [key, windows.get(each) ?? each];
      if (key === "recent" && Array.isArray(each) && each.every((one) => typeof one === "number")) {
        return [key, each.map((one) => windows.get(one) ?? one)];
      }
      return [replacePaneId(key), replaceIds(each, panes, windows)];
    }),
  );
}
