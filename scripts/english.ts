/**
 * Phrases that a native reader would rewrite, each with a better form, and how often each file of src, docs and skills
 * has one. `bun scripts/english.ts` lists them; with `--record` it writes the numbers of today to
 * `tests/docs/english.json`, which may only go down in sum. A guard against new ones, not a measure of good English.
 */
import fs from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const recordFile = join(root, "tests/docs/english.json");

const globs = ["src/**/*.ts", "src/**/*.tsx", "docs/*.md", "skills/*/*.md", "README.md"];

/** Start of a sentence: of a line, of a comment, of a string, or after the end of another sentence. */
const START = String.raw`(?:^[\s>|*/-]*|[.:;] |["'\`])`;
const phrases: readonly (readonly [RegExp, string])[] = [
  [
    /(?<!\b[Tt]here )\b(?:is|are|was|were) no (?!longer|more\b|less\b)[a-z]/g,
    "'is not a …', 'has no …' or 'invalid …'",
  ],
  [/(?<!\b[Tt]here )\b(?:is|are|was|were) none\b/g, "'does not exist', 'invalid …' or 'there are no …'"],
  [
    new RegExp(String.raw`${START}What (?:is|was|are|were|comes|came|stands|runs|ran|has|had)\b(?![^.\n]*\?)`, "gm"),
    "name the thing: 'Output of …', 'The value that …'",
  ],
  [new RegExp(String.raw`${START}Who (?:is|was|has|had|[a-z]+s)\b(?![^.\n]*\?)`, "gm"), "'The caller that …'"],
  [/\b[Ww]hoever\b/g, "'a caller that …', 'anyone who …'"],
  [/\b(?:of|to|for|by|from|with) who [a-z]/g, "'of the caller that …', 'to people who …'"],
  [/\bas (?:it is|it was|they are|they were)\b/g, "'unchanged'"],
  [/\banew\b/g, "'again'"],
  [/\b(?:go|goes|went|gone|going) on with\b/g, "'continue', 'resume'"],
  [/\bthat stands?\b/g, "'that is'"],
];

export interface Found {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly better: string;
}

/** Every phrase of the list in the files that are checked, in their order. */
export function findPhrases(): Found[] {
  const files = globs.flatMap((glob) => [...new Bun.Glob(glob).scanSync(root)]).sort();
  return files.flatMap((file) => {
    const text = fs.readFileSync(join(root, file), "utf8");
    return phrases.flatMap(([pattern, better]) =>
      [...text.matchAll(pattern)].map(({ index, 0: found }) => ({
        ...{ file, better, text: found.trim() },
        line: text.slice(0, index + found.length).split("\n").length,
      })),
    );
  });
}

/** How often each file has one; files without one are not in it. */
export function countByFile(found: readonly Found[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { file } of found) counts[file] = (counts[file] ?? 0) + 1;
  return counts;
}

export function recordedCounts(): Record<string, number> {
  return JSON.parse(fs.readFileSync(recordFile, "utf8"));
}

if (import.meta.main) {
  const found = findPhrases();
  const isRecorded = process.argv.includes("--record");
  const before = fs.existsSync(recordFile)
    ? Object.values(recordedCounts()).reduce((sum, each) => sum + each, 0)
    : null;
  if (isRecorded && before !== null && found.length > before) {
    console.error(`${found.length} phrases, ${before} were recorded: rewrite some first`);
    process.exit(1);
  }
  if (isRecorded) fs.writeFileSync(recordFile, `${JSON.stringify(countByFile(found), null, 2)}\n`);
  else for (const { file, line, text, better } of found) console.log(`${file}:${line}: '${text}': ${better}`);
  console.log(`${found.length} phrases`);
}
