/**
 * The styles of wsh's own elements, by role (`src/protocol/theme.ts`). They are set when a process starts, before anything
 * is drawn, and when the settings change; a style without colours uses those of its background.
 *
 * A terminal with NO_COLOR gets them without colours (`withoutColors`): cells of wsh differ from a program's by their
 * style, which is one of these objects.
 */
import { type Cell, INVERSE, type Row, type Style } from "../protocol/grid.ts";
import { withoutPicture } from "../protocol/placeholder.ts";
import { parseStyle, type StyleSpec, type ThemeRole, themeRoleNames, themeRoles } from "../protocol/theme.ts";

type Theme = Readonly<Record<ThemeRole, Style>>;

const bases: readonly (readonly [front: string, base: ThemeRole])[] = [
  ["status_", "status"],
  ["dialog_", "dialog"],
  ["title", "border"],
];

/** The styles of all roles, with the changes from the settings. */
export function themeOf(changes: Partial<Readonly<Record<ThemeRole, StyleSpec>>>): Record<ThemeRole, Style> {
  const own = (role: ThemeRole): StyleSpec =>
    changes[role] ?? parseStyle(themeRoles[role][0]) ?? { fg: null, bg: null, flags: 0 };
  const made = themeRoleNames.map((role): [ThemeRole, Style] => {
    const look = own(role);
    const base = bases.find(([front]) => role.startsWith(front))?.[1];
    const below = base === undefined || look.fg !== null || look.bg !== null ? null : own(base);
    return [
      role,
      { fg: look.fg ?? below?.fg ?? null, bg: look.bg ?? below?.bg ?? null, flags: look.flags, link: null },
    ];
  });
  return Object.fromEntries(made) as Record<ThemeRole, Style>;
}

const looks = themeOf({});
export const theme: Theme = looks;
/** The same style without colours, for each style of a role. Styles of an earlier theme are collected with their last use. */
const colorless = new WeakMap<Style, Style>();

/** Sets the styles of this process. */
export function useTheme(changes: Partial<Readonly<Record<ThemeRole, StyleSpec>>>): void {
  Object.assign(looks, themeOf(changes));
  for (const role of themeRoleNames) {
    const style = looks[role];
    // A style that differs only in its colours gets the default style's attributes.
    const flags = style.flags || (parseStyle(themeRoles[role][0])?.flags ?? 0);
    colorless.set(style, { ...style, fg: null, bg: null, flags });
  }
}
useTheme({});

/** The styles of the status line, as a text that changes with them. */
export function statusThemeText(): string {
  return JSON.stringify([looks.status, looks.status_current, looks.status_alert]);
}

/** Text of wsh in `base`, changed by a look: its colours replace those of the base, its attributes are added. */
export function lookOver(base: Style, { fg, bg, flags }: StyleSpec): Style {
  if (fg === null && bg === null && (flags | base.flags) === base.flags) return base;
  const style = { ...base, fg: fg ?? base.fg, bg: bg ?? base.bg, flags: base.flags | flags };
  colorless.set(style, { ...style, fg: null, bg: null });
  return style;
}

/** A role's style on another base than the status line: of its colours, those of the status line are left out. */
export function roleOver(base: Style, role: ThemeRole): Style {
  const { status } = looks;
  if (base === status) return looks[role];
  const { fg, bg, flags } = looks[role];
  const own = (color: Style["fg"], below: Style["fg"]) =>
    JSON.stringify(color) === JSON.stringify(below) ? null : color;
  return lookOver(base, { fg: own(fg, status.fg), bg: own(bg, status.bg), flags });
}

/** A style of wsh without its colours. */
export function plainLook(style: Style): Style {
  return colorless.get(style) ?? style;
}

/** A program's cell in a style of wsh: inverse toggles. */
export function inLook(found: Cell, { fg, bg, flags }: Style): Cell {
  // The colour of a picture's part is its number.
  const cell = withoutPicture(found);
  const { style } = cell;
  const all = (style.flags | (flags & ~INVERSE)) ^ (flags & INVERSE);
  return { ...cell, style: { ...style, fg: fg ?? style.fg, bg: bg ?? style.bg, flags: all } };
}

const plainRows = new WeakMap<Row, Row>();

/** A row whose wsh cells have no colours; the same object if it has none. Runs once per new row. */
export function withoutColors(row: Row): Row {
  const known = plainRows.get(row);
  if (known !== undefined) return known;
  const isOurs = row.some(({ style }) => colorless.has(style));
  const made = isOurs ? row.map((cell) => ({ ...cell, style: colorless.get(cell.style) ?? cell.style })) : row;
  plainRows.set(row, made);
  return made;
}
