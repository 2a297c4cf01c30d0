/**
 * Imports another program's history. A command that was imported earlier from the same source is skipped, so an import
 * can be repeated. A command is identified by its time and text, or, without a time, by its position among equal
 * commands.
 */
import type { Database } from "bun:sqlite";
import type { HistoryRecord } from "../record.ts";
import { RowWriter } from "../rows.ts";
import type { ImportSource } from "./sources.ts";

/** Time between commands without a time, in ms, so that they keep their order. */
const STEP_MS = 1_000;
/** Bits of a digest that a number holds exactly. */
const EXACT_BITS = 52n;

/** @param before Unix time in ms: commands without a time are put before it; for example the file's last change */
export function takeImport(
  db: Database,
  source: ImportSource,
  records: readonly HistoryRecord[],
  before: number,
): number {
  const equals = new Map<string, number>();
  return db
    .transaction(() => {
      const name = `import:${source}`;
      db.query("INSERT OR IGNORE INTO journals (name, offset, seq) VALUES (?, 0, 0)").run(name);
      const journal = db.query<{ id: number }, [string]>("SELECT id FROM journals WHERE name = ?").get(name)?.id ?? 0;
      const existing = db.query<{ id: number }, [number, number]>(
        "SELECT id FROM commands WHERE journal = ? AND seq = ?",
      );
      const writer = new RowWriter(db);
      let taken = 0;
      for (const [at, record] of records.entries()) {
        const nth = (equals.get(record.command) ?? 0) + 1;
        equals.set(record.command, nth);
        const seq = digest(`${record.started_at ?? `no time, ${nth}`}\0${record.command}`);
        if (existing.get(journal, seq) !== null) continue;
        writer.write(record, { journal, seq }, before - (records.length - at) * STEP_MS);
        taken++;
      }
      writer.finish();
      return taken;
    })
    .immediate();
}

function digest(text: string): number {
  const hash = Bun.hash(text);
  return Number(BigInt.asUintN(Number(EXACT_BITS), BigInt(hash)));
}
