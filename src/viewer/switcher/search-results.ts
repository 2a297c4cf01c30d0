/** The panes of a session that contain a text, as a list of the switcher. */
import type { SwitcherSource } from "./destinations.ts";

/** Searches names, titles and screens, ignoring case. */
export async function searchSource(source: SwitcherSource, session: number, text: string): Promise<SwitcherSource> {
  const query = text.toLowerCase();
  const candidates = (await source.list()).filter(({ number, kind }) => number === session && kind !== "session");
  const found = await Promise.all(
    candidates.map(async (row) => {
      if (row.name.toLowerCase().includes(query)) return row;
      if (row.kind === "window") return null;
      const lines = (await source.preview?.(row)) ?? [];
      return lines.some((line) => line.toLowerCase().includes(query)) ? row : null;
    }),
  );
  const rows = found.filter((row) => row !== null).map((row) => ({ ...row, depth: 0 }));
  return { ...source, title: `Windows with '${text}'`, list: async () => rows };
}
