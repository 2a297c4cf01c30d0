/**
 * The looks of what wsh draws itself, by role (`src/protocol/theme.ts`). They are set once, when a process starts and
 * before anything is drawn; a look without colours has those of what it lies on.
 *
 * A terminal with NO_COLOR gets them without colours (`withoutColors`): cells of ours are told from a program's by their
 * style, which is one of these objects and nothing else's.
 */
import { type Cell, INVERSE, type Row, type Style } from "../protocol/grid.ts";
import { type Look, parseLook, type ThemeRole, themeRoleNames, themeRoles } from "../protocol/theme.ts";

export type Theme = Readonly<Record<ThemeRole, Style>>;

const bases: readonly (readonly [front: string, base: ThemeRole])[] = [
  ["status_", "status"],
  ["dialog_", "dialog"],
  ["title", "border"],
];

/** The looks of all roles, with what the settings change. */
export function themeOf(changes: Partial<Readonly<Record<ThemeRole, Look>>>): Record<ThemeRole, Style> {
  const own = (role: ThemeRole): Look =>
    changes[role] ?? parseLook(themeRoles[role][0]) ?? { fg: null, bg: null, flags: 0 };
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
/** Each look of ours, without colours. */
const colorless = new Map<Style, Style>();

/** Sets the looks of this process. */
export function useTheme(changes: Partial<Readonly<Record<ThemeRole, Look>>>): void {
  Object.assign(looks, themeOf(changes));
  colorless.clear();
  for (const role of themeRoleNames) {
    const style = looks[role];
    // What is told by its colours alone is told as it is by default.
    const flags = style.flags || (parseLook(themeRoles[role][0])?.flags ?? 0);
    colorless.set(style, { ...style, fg: null, bg: null, flags });
  }
}
useTheme({});

/** A look of ours without its colours. */
export function plainLook(style: Style): Style {
  return colorless.get(style) ?? style;
}

/** A cell of a program in a look of ours: inverse exchanges what is inverse already. */
export function inLook(cell: Cell, { fg, bg, flags }: Style): Cell {
  const { style } = cell;
  const all = (style.flags | (flags & ~INVERSE)) ^ (flags & INVERSE);
  return { ...cell, style: { ...style, fg: fg ?? style.fg, bg: bg ?? style.bg, flags: all } };
}

const plainRows = new WeakMap<Row, Row>();

/** A row whose cells of ours have no colours; the same object where there are none. Runs once per new row. */
export function withoutColors(row: Row): Row {
  const known = plainRows.get(row);
  if (known !== undefined) return known;
  const isOurs = row.some(({ style }) => colorless.has(style));
  const made = isOurs ? row.map((cell) => ({ ...cell, style: colorless.get(cell.style) ?? cell.style })) : row;
  plainRows.set(row, made);
  return made;
}
