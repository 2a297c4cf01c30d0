/**
 * The tables in which a key is looked up: `prefix` after the prefix key, `root` without it, `copy` in copy mode, and
 * a person's own, which a binding to `view.table` enters. Pure.
 *
 * Between processes and in the settings a table is flat: a key after the prefix by its name, any other as `TABLE:NAME`.
 */
import { type Binding, type Bindings, defaultBindings } from "./bindings.ts";
import { type CopyModeAction, isCopyModeAction } from "./copy-table.ts";

/** Changes over the default bindings, flat; null binds a key to nothing. */
export type KeyChanges = Readonly<Record<string, Binding | null>>;

/** Names of own tables: none of them is a key's. */
const tableName = /^[a-z][a-z0-9_-]{1,31}$/;
const qualifiedName = /^([a-z][a-z0-9_-]{1,31}):(.+)$/s;
/** Keys that text consists of. */
const textKey = /^(?:[^+]|\+|Enter|Tab|Backspace|ctrl\+j|[^\x00-\x7f]+)$/s;
/** Other keys that every shell and program needs: arrows and the like, Escape, Ctrl with a letter. */
const commonKey = /^(?:(?:ctrl\+)?[a-z]|Arrow\w+|Home|End|Page\w+|Insert|Delete|Escape)$/;

/** Prefix of the operations of copy mode. */
const COPY_PREFIX = "copy.";

export function isTableName(name: string): boolean {
  return tableName.test(name);
}

/** A key in flat changes. */
export function flatKey(table: string, key: string): string {
  return table === "prefix" ? key : `${table}:${key}`;
}

export function splitFlat(flat: string): { readonly table: string; readonly key: string } {
  const [, table, key] = qualifiedName.exec(flat) ?? [];
  return table === undefined || key === undefined ? { table: "prefix", key: flat } : { table, key };
}

/** The action of copy mode that an operation is; null for any other one. */
export function parseCopyModeAction(operation: string): CopyModeAction | null {
  if (!operation.startsWith(COPY_PREFIX)) return null;
  const action = operation.slice(COPY_PREFIX.length);
  return isCopyModeAction(action) ? action : null;
}

const noBindings: Bindings = new Map();

export class KeyTables {
  /** After the prefix, without it, and in copy mode; the last contains only keys that are not actions of copy mode. */
  readonly prefix: Bindings;
  readonly root: Bindings;
  readonly copy: Bindings;
  /** Changes to copy mode's own actions. */
  readonly copyModeChanges: Readonly<Record<string, CopyModeAction | null>>;
  /** Whether keys are looked up without the prefix at all, and whether keys of text are among them. */
  readonly bindsRoot: boolean;
  readonly bindsText: boolean;
  private readonly tables = new Map<string, Map<string, Binding>>();

  constructor(changes: KeyChanges) {
    const copyModeChanges: Record<string, CopyModeAction | null> = {};
    const ownBindings = Object.entries(changes).map(([flat, binding]) => ({ ...splitFlat(flat), binding }));
    for (const { table, key, binding } of ownBindings) {
      const action = binding === null ? null : parseCopyModeAction(binding.operation);
      if (table === "copy" && (binding === null || action !== null)) copyModeChanges[key] = action;
      else if (binding !== null) this.openTable(table).set(key, binding);
    }
    for (const [key, binding] of defaultBindings)
      if (!Object.hasOwn(changes, key)) this.openTable("prefix").set(key, binding);
    this.prefix = this.get("prefix") ?? noBindings;
    this.root = this.get("root") ?? noBindings;
    this.copy = this.get("copy") ?? noBindings;
    // A key with another binding loses its action of copy mode.
    for (const key of this.copy.keys()) copyModeChanges[key] = null;
    this.copyModeChanges = copyModeChanges;
    const rootKeys = [...this.root.keys(), ...this.copy.keys()];
    this.bindsRoot = rootKeys.length > 0;
    this.bindsText = rootKeys.some((key) => textKey.test(key));
  }

  get(table: string): Bindings | undefined {
    return this.tables.get(table);
  }

  /** Every table by its name: the prefix's first, then the root's. */
  get all(): ReadonlyMap<string, Bindings> {
    const order = ["prefix", "root"];
    const named = [...this.tables].toSorted(
      ([a], [b]) => Number(order.includes(b)) - Number(order.includes(a)) || order.indexOf(a) - order.indexOf(b),
    );
    return new Map(named);
  }

  /** Keys bound without the prefix although programs need them, which no program receives. */
  get shadowedKeys(): readonly string[] {
    return [...this.root.keys()].filter((key) => textKey.test(key) || commonKey.test(key));
  }

  private openTable(name: string): Map<string, Binding> {
    const table = this.tables.get(name) ?? new Map<string, Binding>();
    this.tables.set(name, table);
    return table;
  }
}
