/** The entries of the command palette: the operations with their parameters and key bindings. */
import { type Bindings, bindingRows } from "../../keys/bindings.ts";
import { TARGET_PARAMETER } from "../../keys/line.ts";
import { keyNames } from "../../keys/names.ts";
import {
  describeViewOperation,
  isViewOperation,
  viewOperationNames,
  viewParameters,
} from "../../keys/view-operations.ts";
import { type Parameter, parametersOf } from "../../operations/parameters.ts";
import { may } from "../../operations/rights.ts";
import { findOperation, operations } from "../../operations/table.ts";
import type { Acting } from "../../protocol/caller.ts";
import type { SwitcherRow } from "../switcher/destinations.ts";
import type { KnownOperation, NamedTarget, PaletteEntries } from "./suggest.ts";

/** Groups in order of their use: operations on visible objects come first. */
const groupOrder = ["view", "pane", "window", "layout", "session", "sessions", "input", "buffer"];

function groupRank(name: string): number {
  const index = groupOrder.indexOf(name.split(".")[0] ?? "");
  return index < 0 ? groupOrder.length : index;
}

const targetParameter: Parameter = {
  name: TARGET_PARAMETER,
  required: false,
  values: [],
  isPlain: false,
  description: "a session, window or pane (default: the active one)",
};

/** Null for an unknown operation. */
export function listParameters(name: string): readonly Parameter[] | null {
  if (isViewOperation(name))
    return Object.entries(viewParameters(name)).map(([parameter, { kind, description, required = false }]) => {
      const values = typeof kind === "string" ? (kind === "flag" ? ["true", "false"] : []) : kind;
      return {
        name: parameter,
        required,
        description,
        values,
        isPlain: kind === "text" && parameter !== TARGET_PARAMETER,
      };
    });
  const operation = findOperation(name);
  if (operation === undefined) return null;
  const parameters = parametersOf(operation);
  return operation.scope === "server" ? parameters : [...parameters, targetParameter];
}

export function buildEntries(
  bindings: Bindings,
  by: Acting,
  { places, recent }: { readonly places: readonly SwitcherRow[]; readonly recent: readonly string[] },
): PaletteEntries {
  const keysOf = (name: string): string => {
    const ownBindings = new Map([...bindings].filter(([, { operation }]) => operation === name));
    return bindingRows(ownBindings)
      .flatMap(({ keys }) => keys)
      .slice(0, 2)
      .join(" ");
  };
  const callable = operations.filter((each) =>
    may(by, each, each.scope === "server" ? null : (by.caller.only ?? null)),
  );
  const viewEntries = viewOperationNames.map((name) => ({
    name,
    description: describeViewOperation(name),
    ends: false,
  }));
  const all = [
    ...viewEntries,
    ...callable.map(({ name, summary, ends }) => ({ name, description: summary, ends: ends !== undefined })),
  ];
  const parameters = new Map<string, readonly Parameter[] | null>();
  return {
    operations: all
      .map(({ name, description, ends }): KnownOperation => ({ name, description, keys: keysOf(name), ends }))
      .toSorted((a, b) => groupRank(a.name) - groupRank(b.name)),
    parameters(name) {
      if (!parameters.has(name)) parameters.set(name, listParameters(name));
      return parameters.get(name) ?? null;
    },
    targets: places.map(describePlace),
    keyNames: keyNames().flatMap(([first]) => first ?? []),
    recent,
  };
}

/** A place by the name that calls use. */
function describePlace({ kind, session, target, name, description }: SwitcherRow): NamedTarget {
  if (kind === "session") return { text: session, description: `session, ${description}` };
  return { text: target, description: `${kind} ${kind === "window" ? `${session}:` : ""}${name} of ${session}` };
}
