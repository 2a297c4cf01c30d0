/** What the table of subcommands says of each (catalog.ts). */
import type { Command } from "commander";

/** Adds one subcommand. @param whole makes a program with all of them, for what is generated from them */
type Register = (program: Command, whole: () => Promise<Command>) => void;

export interface CatalogEntry {
  readonly name: string;
  readonly alias?: string;
  /** Arguments in short, for the overview. */
  readonly usage: string;
  readonly summary: string;
  /** Shown in the overview by its name alone. */
  readonly isRare?: true;
  readonly load: () => Promise<Register>;
}

export interface CatalogGroup {
  readonly title: string;
  readonly entries: readonly CatalogEntry[];
}
