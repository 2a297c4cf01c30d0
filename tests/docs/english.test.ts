/** Phrases that a native reader would rewrite do not get more: see scripts/english.ts. */
import { expect, test } from "bun:test";
import { countByFile, findPhrases, recordedCounts } from "../../scripts/english.ts";

test("no file has more phrases to rewrite than are recorded of it", () => {
  const found = findPhrases();
  const recorded = recordedCounts();
  const grown = Object.entries(countByFile(found)).filter(([file, count]) => count > (recorded[file] ?? 0));
  const lines = grown.flatMap(([file]) =>
    found
      .filter((each) => each.file === file)
      .map(({ line, text, better }) => `${file}:${line}: '${text}': better ${better}`),
  );
  expect(lines, "rewrite them; for text that moved between files: bun scripts/english.ts --record").toEqual([]);
});
