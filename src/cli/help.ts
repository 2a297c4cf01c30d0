/**
 * The overview that `wsh --help` prints: subcommands in groups, within a screen. The last line of a group
 * lists the names of its rarely needed subcommands.
 */
import { VERSION } from "../protocol/version.ts";
import { type CatalogEntry, catalog } from "./catalog.ts";
import { bold } from "./print.ts";

/** Where the summaries begin, in cells: past the longest usage. */
const SUMMARY_COLUMN = 35;

export function rootHelp(): string {
  const groups = catalog.flatMap(({ title, entries }) => {
    const rare = entries.filter(({ isRare }) => isRare).map(({ name }) => name);
    const often = entries.filter(({ isRare }) => !isRare);
    return [bold(title), ...often.map(entryLine), ...(rare.length === 0 ? [] : [alsoLine(rare)])];
  });
  return `${[
    `${bold("wsh")} ${VERSION}: a terminal multiplexer in which every session is also an API`,
    entryLine({ name: "wsh", usage: "[-c COMMAND]", summary: "open a session with your shell or COMMAND" }),
    ...groups,
    `${bold("Everywhere")}: -L NAME (the instance), --help, --version. Ctrl+\\ twice detaches.`,
  ].join("\n")}\n`;
}

function entryLine({
  name,
  usage,
  summary,
}: Pick<CatalogEntry, "usage" | "summary"> & { readonly name: string }): string {
  return `  ${`${name} ${usage}`.padEnd(SUMMARY_COLUMN - 2)}${summary}`;
}

function alsoLine(names: readonly string[]): string {
  return `  also: ${names.join(", ")}`;
}
