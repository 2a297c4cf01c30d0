/**
 * Writes a session's windows as the text of a layout file: with programs and directories, so that they can be started
 * again.
 */
import { basename } from "node:path";
import type { OperationOutput } from "../../operations/table.ts";
import { defined, present } from "../../protocol/defined.ts";
import type { PaneInfo, WindowInfo } from "../../protocol/session.ts";

/** Programs of a pane without a command. */
const shells = new Set(["bash", "zsh", "fish", "sh", "pwsh"]);
/** Digits of a weight: a share of a large screen to the cell. */
const WEIGHT_DIGITS = 4;

interface Branch {
  readonly row?: readonly Branch[];
  readonly column?: readonly Branch[];
  readonly pane?: string;
  readonly weight?: number;
  readonly title?: string;
  readonly keep_after_exit?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** A node in a layout file. */
interface SavedNode {
  readonly [key: string]: unknown;
  readonly row?: readonly SavedNode[];
  readonly column?: readonly SavedNode[];
}

/** @param ownShell the shell of a pane that names none */
export function savedWindows(
  layout: OperationOutput<"layout.get">,
  windows: readonly WindowInfo[],
  ownShell: string | undefined,
): readonly SavedNode[] {
  return layout.windows.map(({ id, name, named = false, tree, floats = [] }) => {
    const window = windows.find((each) => each.id === id);
    const panes = new Map(window?.panes.map((pane) => [pane.id, pane]));
    // With several panes one has the focus; a single pane's focus is implied.
    const description = window?.active === true && layout.windows.length + window.panes.length > 2;
    const node = savedNode(tree as Branch, panes, description, ownShell);
    const above = floats.map((each) => savedFloat(each as Branch & SavedNode, panes, description, ownShell));
    return { ...(named ? { name } : {}), ...node, ...(above.length === 0 ? {} : { floats: above }) };
  });
}

function savedFloat(
  { x, y, width, height, hidden, border, ...branch }: Branch & SavedNode,
  panes: ReadonlyMap<string, PaneInfo>,
  saysFocus: boolean,
  ownShell: string | undefined,
): SavedNode {
  return { ...savedNode(branch, panes, saysFocus, ownShell), ...defined({ x, y, width, height, hidden, border }) };
}

function savedNode(
  branch: Branch,
  panes: ReadonlyMap<string, PaneInfo>,
  saysFocus: boolean,
  ownShell: string | undefined,
): SavedNode {
  for (const axis of ["row", "column"] as const) {
    const children = branch[axis];
    if (children === undefined) continue;
    const isEven = children.every(({ weight }) => weight === children[0]?.weight);
    return {
      [axis]: children.map((child) => {
        const weight = isEven ? {} : { weight: Number((child.weight ?? 1).toPrecision(WEIGHT_DIGITS)) };
        return { ...savedNode(child, panes, saysFocus, ownShell), ...weight };
      }),
    };
  }
  const pane = panes.get(branch.pane ?? "");
  if (pane === undefined) return {};
  const { command, cwd, view, active } = pane;
  const { title, keep_after_exit, env } = branch;
  const chosen = {
    ...defined({ title, keep_after_exit }),
    ...(saysFocus && active ? { focus: true } : {}),
  };
  if (view !== undefined) return { view, ...chosen };
  const isShell = !command.includes(" ") && shells.has(basename(command));
  const program = !isShell ? { command } : command === ownShell ? {} : { shell: command };
  return { ...program, ...present({ cwd }), ...defined({ env }), ...chosen };
}

export function layoutToml(windows: readonly SavedNode[]): string {
  return windows.map((window) => `[[windows]]\n${pairs(window)}`).join("\n");
}

function pairs(node: SavedNode): string {
  return Object.entries(node)
    .map(([key, value]) => `${keyText(key)} = ${valueText(value, 0)}\n`)
    .join("");
}

function valueText(value: unknown, depth: number): string {
  // TOML's basic strings are JSON's, except for DEL.
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return inline(value as SavedNode, depth);
  if (!Array.isArray(value)) return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
  const indent = "  ".repeat(depth);
  return `[\n${value.map((each) => `${indent}  ${inline(each, depth + 1)},\n`).join("")}${indent}]`;
}

function inline(node: SavedNode, depth: number): string {
  const inner = Object.entries(node).map(([key, value]) => `${keyText(key)} = ${valueText(value, depth)}`);
  return inner.length === 0 ? "{}" : `{ ${inner.join(", ")} }`;
}

/** A variable's name may not be a valid bare key. */
function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key);
}
