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
const qualified = /^([a-z][a-z0-9_-]{1,31}):(.+)$/s;
/** Keys that text consists of. */
const isTyped = /^(?:[^+]|\+|Enter|Tab|Backspace|ctrl\+j|[^\x00-\x7f]+)$/s;
/** Other keys that every shell and program needs: arrows and the like, Escape, Ctrl with a letter. */
const isNeeded = /^(?:(?:ctrl\+)?[a-z]|Arrow\w+|Home|End|Page\w+|Insert|Delete|Escape)$/;

/** Prefix of the operations of copy mode. */
const COPY = "copy.";

export function isTableName(name: string): boolean {
  return tableName.test(name);
}

/** A key in flat changes. */
export function flatKey(table: string, key: string): string {
  return table === "prefix" ? key : `${table}:${key}`;
}

export function splitFlat(flat: string): { readonly table: string; readonly key: string } {
  const [, table, key] = qualified.exec(flat) ?? [];
  return table === undefined || key === undefined ? { table: "prefix", key: flat } : { table, key };
}

/** The action of copy mode that an operation is; null for any other one. */
export function copyModeActionOf(operation: string): CopyModeAction | null {
  if (!operation.startsWith(COPY)) return null;
  const action = operation.slice(COPY.length);
  return isCopyModeAction(action) ? action : null;
}

const none: Bindings = new Map();

export class KeyTables {
  /** After the prefix, without it, and in copy mode; the last contains only keys that are not actions of copy mode. */
  readonly prefix: Bindings;
  readonly root: Bindings;
  readonly copy: Bindings;
  /** Changes to copy mode's own actions. */
  readonly look: Readonly<Record<string, CopyModeAction | null>>;
  /** Whether keys are looked up without the prefix at all, and whether keys of text are among them. */
  readonly hasRoot: boolean;
  readonly takesText: boolean;
  private readonly tables = new Map<string, Map<string, Binding>>();

  constructor(changes: KeyChanges) {
    const look: Record<string, CopyModeAction | null> = {};
    const ownBindings = Object.entries(changes).map(([flat, binding]) => ({ ...splitFlat(flat), binding }));
    for (const { table, key, binding } of ownBindings) {
      const action = binding === null ? null : copyModeActionOf(binding.operation);
      if (table === "copy" && (binding === null || action !== null)) look[key] = action;
      else if (binding !== null) this.tableOf(table).set(key, binding);
    }
    for (const [key, binding] of defaultBindings)
      if (!Object.hasOwn(changes, key)) this.tableOf("prefix").set(key, binding);
    this.prefix = this.get("prefix") ?? none;
    this.root = this.get("root") ?? none;
    this.copy = this.get("copy") ?? none;
    // A key with another binding loses its action of copy mode.
    for (const key of this.copy.keys()) look[key] = null;
    this.look = look;
    const first = [...this.root.keys(), ...this.copy.keys()];
    this.hasRoot = first.length > 0;
    this.takesText = first.some((key) => isTyped.test(key));
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
  get missed(): readonly string[] {
    return [...this.root.keys()].filter((key) => isTyped.test(key) || isNeeded.test(key));
  }

  private tableOf(name: string): Map<string, Binding> {
    const table = this.tables.get(name) ?? new Map<string, Binding>();
    this.tables.set(name, table);
    return table;
  }
}
