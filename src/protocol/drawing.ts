/**
 * Overlays and panels in the form of every transport (docs/protocol.md, Drawing).
 *
 * Owns the schemas. Invariant: input is lenient (a colour as a name, `#rrggbb` or {r,g,b}; a background as a colour or
 * {bg}; null for unset), output always has one form, and every input schema can be described as JSON Schema. The store
 * checks counts and sizes, since their error code depends on whether an element is created or changed.
 */
import * as v from "valibot";
import { elementColorNames, MAX_TTL_MS } from "./drawing-limits.ts";
import { described, integerBetween } from "./fields.ts";

const U16_MAX = 65_535;
const I32_MIN = -2_147_483_648;
const I32_MAX = 2_147_483_647;

const U16Schema = integerBetween(0, U16_MAX);
const I32Schema = integerBetween(I32_MIN, I32_MAX);
const U8Schema = integerBetween(0, 255);

const ColorNameSchema = v.picklist(elementColorNames);
const RgbSchema = v.object({ r: U8Schema, g: U8Schema, b: U8Schema });
const ColorTextSchema = v.pipe(v.string(), v.regex(/^#[0-9a-fA-F]{6}$/, "a colour is a name, #rrggbb or {r,g,b}"));

/** A colour in a reply. */
export type ElementColor = v.InferOutput<typeof ColorNameSchema> | v.InferOutput<typeof RgbSchema>;
type ColorInput = ElementColor | string;

function toColor(input: ColorInput): ElementColor {
  if (typeof input === "object") return { r: input.r, g: input.g, b: input.b };
  const named = elementColorNames.find((name) => name === input);
  if (named !== undefined) return named;
  const value = Number.parseInt(input.slice(1), 16);
  return { r: value >> 16, g: (value >> 8) & 0xff, b: value & 0xff };
}

const AnyColorSchema = v.union(
  [ColorNameSchema, ColorTextSchema, RgbSchema],
  `a colour is one of ${elementColorNames.join(", ")}, #rrggbb or {r,g,b}`,
);

/** A colour in a request. */
const ElementColorSchema = v.pipe(
  AnyColorSchema,
  v.description("A colour name, #rrggbb or {r,g,b}"),
  v.transform(toColor),
);

/** The fill of an element's box. */
interface Background {
  readonly bg: ElementColor;
}

export const BackgroundSchema = v.pipe(
  v.union([AnyColorSchema, v.object({ bg: AnyColorSchema })], "a background is a colour or {bg: colour}"),
  v.description("Fill of the box: a colour, or {bg: colour}"),
  v.transform((input): Background => {
    return { bg: toColor(typeof input === "object" && "bg" in input ? input.bg : input) };
  }),
);

/** Text with its style; unset keys are absent, flags are true or absent. */
export interface ElementText {
  readonly text: string;
  readonly fg?: ElementColor;
  readonly bg?: ElementColor;
  readonly bold?: true;
  readonly italic?: true;
  readonly underline?: true;
}

export interface ElementSpan extends ElementText {
  /** A name for updating the span; several spans may share it. */
  readonly id?: string;
}

/** Text at a position inside the box. */
export interface RegionWrite extends ElementText {
  readonly row: number;
  readonly col: number;
}

const textEntries = {
  text: v.string(),
  fg: v.nullish(ElementColorSchema),
  bg: v.nullish(ElementColorSchema),
  bold: v.nullish(v.boolean()),
  italic: v.nullish(v.boolean()),
  underline: v.nullish(v.boolean()),
};
const TextSchema = v.object(textEntries);

function toText(input: v.InferOutput<typeof TextSchema>): ElementText {
  return {
    text: input.text,
    ...(input.fg == null ? {} : { fg: input.fg }),
    ...(input.bg == null ? {} : { bg: input.bg }),
    ...(input.bold ? { bold: true } : {}),
    ...(input.italic ? { italic: true } : {}),
    ...(input.underline ? { underline: true } : {}),
  };
}

export const ElementSpanSchema = v.pipe(
  v.object({ ...textEntries, id: v.nullish(v.string()) }),
  v.transform((input): ElementSpan => ({ ...toText(input), ...(input.id == null ? {} : { id: input.id }) })),
);

export const RegionWriteSchema = v.pipe(
  v.object({ ...textEntries, row: U16Schema, col: U16Schema }),
  v.transform((input): RegionWrite => ({ row: input.row, col: input.col, ...toText(input) })),
);

const SpansSchema = v.array(ElementSpanSchema);
const TtlSchema = described(integerBetween(1, MAX_TTL_MS), "Milliseconds after which the element removes itself");

const PositionSchema = v.picklist(["top", "bottom"]);
export type PanelPosition = v.InferOutput<typeof PositionSchema>;

/** Drops null and undefined keys. The cast states this; no type can express it. */
function withoutAbsent<T extends object>(input: T): Given<T> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value != null)) as Given<T>;
}
type Given<T> = {
  [K in keyof T as null extends T[K] ? never : undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as null extends T[K] ? K : undefined extends T[K] ? K : never]?: NonNullable<T[K]>;
};

/** The screen on which an element is shown: the normal one, the alternate one, or both. */
export const ElementScreenModeSchema = v.picklist(["normal", "alt", "both"]);
export type ElementScreenMode = v.InferOutput<typeof ElementScreenModeSchema>;

const drawnEntries = {
  screen_mode: v.nullish(
    described(ElementScreenModeSchema, "screen on which it is shown; 'alt' is the screen of full-screen programs"),
  ),
  z: v.nullish(I32Schema),
  background: v.nullish(BackgroundSchema),
  focusable: v.nullish(v.boolean()),
  ttl_ms: v.nullish(TtlSchema),
  persist: v.nullish(described(v.boolean(), "saved in the session's checkpoint and restored with the session")),
};

export const CreateOverlaySchema = v.pipe(
  v.object({ x: U16Schema, y: U16Schema, width: U16Schema, height: U16Schema, spans: SpansSchema, ...drawnEntries }),
  v.transform(withoutAbsent),
);
export type CreateOverlay = v.InferOutput<typeof CreateOverlaySchema>;

export const CreatePanelSchema = v.pipe(
  v.object({ position: PositionSchema, height: U16Schema, spans: v.nullish(SpansSchema), ...drawnEntries }),
  v.transform(withoutAbsent),
);
export type CreatePanel = v.InferOutput<typeof CreatePanelSchema>;

/** PUT of an overlay: its spans only. */
export const ReplaceOverlaySchema = v.object({ spans: SpansSchema });

export const PatchOverlaySchema = v.pipe(
  v.object({
    x: v.nullish(U16Schema),
    y: v.nullish(U16Schema),
    width: v.nullish(U16Schema),
    height: v.nullish(U16Schema),
    spans: v.nullish(SpansSchema),
    ...drawnEntries,
  }),
  v.transform(withoutAbsent),
);
export type PatchOverlay = v.InferOutput<typeof PatchOverlaySchema>;

/** PUT of a panel: everything but background, focusable and persist. */
export const ReplacePanelSchema = v.object({
  position: PositionSchema,
  height: U16Schema,
  z: I32Schema,
  spans: SpansSchema,
});
export type ReplacePanel = v.InferOutput<typeof ReplacePanelSchema>;

export const PatchPanelSchema = v.pipe(
  v.object({
    position: v.nullish(PositionSchema),
    height: v.nullish(U16Schema),
    spans: v.nullish(SpansSchema),
    ...drawnEntries,
  }),
  v.transform(withoutAbsent),
);
export type PatchPanel = v.InferOutput<typeof PatchPanelSchema>;

export const UpdateSpansSchema = v.object({ spans: SpansSchema });
export const RegionWritesSchema = v.object({ writes: v.array(RegionWriteSchema) });

export const BatchUpdateSchema = v.pipe(
  v.object({
    id: v.string(),
    type: v.picklist(["overlay", "panel"]),
    spans: v.nullish(SpansSchema),
    writes: v.nullish(v.array(RegionWriteSchema)),
  }),
  v.transform(withoutAbsent),
);

export type ScreenMode = "normal" | "alt";

interface Element {
  readonly id: string;
  readonly z: number;
  readonly background?: Background;
  readonly spans: readonly ElementSpan[];
  /** Absent when empty. */
  readonly region_writes?: readonly RegionWrite[];
  /** Absent when false. */
  readonly focusable?: true;
  /** Absent when normal. */
  readonly screen_mode?: "alt" | "both";
  /** Absent when false. */
  readonly persist?: true;
}

/**
 * A box above the terminal's content, in cells of the outer screen. It may be partly or completely outside of the
 * screen.
 */
export interface Overlay extends Element {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A strip as wide as the screen, whose rows are not part of the program's screen. */
export interface Panel extends Element {
  readonly position: PanelPosition;
  readonly height: number;
  /** False if there is no room for it. */
  readonly visible: boolean;
}

const shownEntries = {
  id: v.string(),
  z: v.number(),
  background: v.optional(v.object({ bg: v.union([ColorNameSchema, RgbSchema]) })),
  spans: v.array(v.object({ ...shownText(), id: v.optional(v.string()) })),
  region_writes: v.optional(v.array(v.object({ row: v.number(), col: v.number(), ...shownText() }))),
  focusable: v.optional(v.literal(true)),
  screen_mode: v.optional(v.picklist(["alt", "both"])),
  persist: v.optional(v.literal(true)),
};

function shownText() {
  const color = v.optional(v.union([ColorNameSchema, RgbSchema]));
  const flag = v.optional(v.literal(true));
  return { text: v.string(), fg: color, bg: color, bold: flag, italic: flag, underline: flag };
}

/** The answer of GET. */
export const OverlaySchema = v.object({
  x: v.number(),
  y: v.number(),
  width: v.number(),
  height: v.number(),
  ...shownEntries,
});
export const PanelSchema = v.object({
  position: PositionSchema,
  height: v.number(),
  visible: v.boolean(),
  ...shownEntries,
});
