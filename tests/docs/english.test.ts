/** The number of phrases that a native reader would rewrite does not grow: see scripts/english.ts. */
import { expect, test } from "bun:test";
import { countByFile, findPhrases, recordedCounts } from "../../scripts/english.ts";

test("there are no more phrases to rewrite than are recorded; text may move between files", () => {
  const found = findPhrases();
  const recorded = recordedCounts();
  const most = Object.values(recorded).reduce((sum, each) => sum + each, 0);
  const grown = Object.entries(countByFile(found)).filter(([file, count]) => count > (recorded[file] ?? 0));
  const lines = grown.flatMap(([file]) =>
    found
      .filter((each) => each.file === file)
      .map(({ line, text, better }) => `${file}:${line}: '${text}': better ${better}`),
  );
  expect(found.length > most ? lines : [], "rewrite some of these").toEqual([]);
});
