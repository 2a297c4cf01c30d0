/**
 * The styles of wsh's own elements, by role (`src/protocol/theme.ts`). They are set when a process starts,
 * before it draws, and when the settings change; a style without colours uses those of its background.
 *
 * A terminal with NO_COLOR gets them without colours (`withoutColors`): cells of wsh differ from a program's by their
 * style, which is one of these objects.
 */
import { type Cell, INVERSE, type Row, type Style } from "../protocol/grid.ts";
import { withoutPicture } from "../protocol/placeholder.ts";
import { parseStyle, type StyleSpec, type ThemeRole, themeRoleNames, themeRoles } from "../protocol/theme.ts";

type Theme = Readonly<Record<ThemeRole, Style>>;

const baseRoles: readonly (readonly [front: string, base: ThemeRole])[] = [
  ["status_", "status"],
  ["dialog_", "dialog"],
  ["title", "border"],
];

/** The styles of all roles, with the changes from the settings. */
export function buildTheme(changes: Partial<Readonly<Record<ThemeRole, StyleSpec>>>): Record<ThemeRole, Style> {
  const specOf = (role: ThemeRole): StyleSpec =>
    changes[role] ?? parseStyle(themeRoles[role][0]) ?? { fg: null, bg: null, flags: 0 };
  const entries = themeRoleNames.map((role): [ThemeRole, Style] => {
    const spec = specOf(role);
    const base = baseRoles.find(([front]) => role.startsWith(front))?.[1];
    const baseSpec = base === undefined || spec.fg !== null || spec.bg !== null ? null : specOf(base);
    return [
      role,
      { fg: spec.fg ?? baseSpec?.fg ?? null, bg: spec.bg ?? baseSpec?.bg ?? null, flags: spec.flags, link: null },
    ];
  });
  return Object.fromEntries(entries) as Record<ThemeRole, Style>;
}

const currentStyles = buildTheme({});
export const theme: Theme = currentStyles;
/**
 * For each style of a role, the same without colours. Styles of an earlier theme are collected with their last use.
 */
const colorless = new WeakMap<Style, Style>();

/** Sets the styles of this process. */
export function useTheme(changes: Partial<Readonly<Record<ThemeRole, StyleSpec>>>): void {
  Object.assign(currentStyles, buildTheme(changes));
  for (const role of themeRoleNames) {
    const style = currentStyles[role];
    // A style that differs only in its colours gets the default style's attributes.
    const flags = style.flags || (parseStyle(themeRoles[role][0])?.flags ?? 0);
    colorless.set(style, { ...style, fg: null, bg: null, flags });
  }
}
useTheme({});

/** The styles of the status line, as a text that changes with them. */
export function serializeStatusTheme(): string {
  return JSON.stringify([currentStyles.status, currentStyles.status_current, currentStyles.status_alert]);
}

/** Text of wsh in `base`, changed by a look: its colours replace those of the base, its attributes are added. */
export function applySpec(base: Style, { fg, bg, flags }: StyleSpec): Style {
  if (fg === null && bg === null && (flags | base.flags) === base.flags) return base;
  const style = { ...base, fg: fg ?? base.fg, bg: bg ?? base.bg, flags: base.flags | flags };
  colorless.set(style, { ...style, fg: null, bg: null });
  return style;
}

/** A role's style on a base other than the status line: colours of the status line are left out. */
export function roleStyleOn(base: Style, role: ThemeRole): Style {
  const { status } = currentStyles;
  if (base === status) return currentStyles[role];
  const { fg, bg, flags } = currentStyles[role];
  const ownColor = (color: Style["fg"], below: Style["fg"]) =>
    JSON.stringify(color) === JSON.stringify(below) ? null : color;
  return applySpec(base, { fg: ownColor(fg, status.fg), bg: ownColor(bg, status.bg), flags });
}

/** A style of wsh without its colours. */
export function colorlessStyle(style: Style): Style {
  return colorless.get(style) ?? style;
}

/** A program's cell in a style of wsh: inverse toggles. */
export function restyleCell(found: Cell, { fg, bg, flags }: Style): Cell {
  // The colour of a picture's part is its number.
  const cell = withoutPicture(found);
  const { style } = cell;
  const all = (style.flags | (flags & ~INVERSE)) ^ (flags & INVERSE);
  return { ...cell, style: { ...style, fg: fg ?? style.fg, bg: bg ?? style.bg, flags: all } };
}

const plainRows = new WeakMap<Row, Row>();

/** A row whose wsh cells have no colours; the same object if it has none. Runs once per new row. */
export function withoutColors(row: Row): Row {
  const cached = plainRows.get(row);
  if (cached !== undefined) return cached;
  const hasOwnCells = row.some(({ style }) => colorless.has(style));
  const made = hasOwnCells ? row.map((cell) => ({ ...cell, style: colorless.get(cell.style) ?? cell.style })) : row;
  plainRows.set(row, made);
  return made;
}
