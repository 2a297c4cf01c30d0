/**
 * The styles of wsh's own elements, by role (`src/protocol/theme.ts`). They are set once, when a process starts and
 * before anything is drawn; a style without colours uses those of its background.
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
/** Each style of wsh, without colours. */
const colorless = new Map<Style, Style>();

/** Sets the styles of this process. */
export function useTheme(changes: Partial<Readonly<Record<ThemeRole, StyleSpec>>>): void {
  Object.assign(looks, themeOf(changes));
  colorless.clear();
  for (const role of themeRoleNames) {
    const style = looks[role];
    // A style that differs only in its colours gets the default style's attributes.
    const flags = style.flags || (parseStyle(themeRoles[role][0])?.flags ?? 0);
    colorless.set(style, { ...style, fg: null, bg: null, flags });
  }
}
useTheme({});

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
