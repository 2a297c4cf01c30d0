/** How a terminal attaches: the one stream request of a host's socket that a person's terminal makes. */
import * as v from "valibot";
import { SideSchema } from "./size.ts";

/**
 * History that is written into the outer terminal's own scrollback before the screen: what is new since that terminal last
 * detached, all, none, or the newest N lines.
 */
const ScrollbackChoiceSchema = v.union([
  v.picklist(["new", "all", "none"]),
  v.pipe(v.number(), v.integer(), v.minValue(0)),
]);
export type ScrollbackChoice = v.InferOutput<typeof ScrollbackChoiceSchema>;

/** A terminal as the system knows it, so that another process can tell whether it has opened the same one. */
const PersonDeviceSchema = v.object({
  path: v.string(),
  /** Of stat(2): st_dev, st_ino, st_rdev. */
  device: v.number(),
  inode: v.number(),
  number: v.number(),
  /** Of the client. A terminal is only read while that is not stopped and in the foreground. */
  pid: v.optional(v.number()),
});
export type PersonDevice = v.InferOutput<typeof PersonDeviceSchema>;

export const AttachSchema = v.object({
  rows: SideSchema,
  cols: SideSchema,
  scrollback: ScrollbackChoiceSchema,
  /** Looks on: sends no keys and never decides the size. */
  read_only: v.boolean(),
  /** Never gets the program's own bytes: it draws on a screen of its own. */
  paint_only: v.boolean(),
  /** Whether it may get the program's own bytes; where false, it is painted, on the screen that it has. */
  relay: v.optional(v.boolean(), true),
  /** Overlays and panels are shown without colours (NO_COLOR); programs keep theirs. */
  no_color: v.optional(v.boolean(), false),
  /** Names the terminal, as long as it has its scrollback; absent where that cannot be told from another's. */
  outer: v.optional(v.pipe(v.string(), v.maxLength(256))),
  /** Socket of the session that the client runs in; absent outside. */
  around: v.optional(v.pipe(v.string(), v.maxLength(4096))),
  /** What the person calls the prefix key; null when there is none. */
  prefix: v.nullable(v.string()),
  /** The terminal, if the host may open it itself and carry keys and the program's bytes without the client. */
  terminal: v.optional(PersonDeviceSchema),
});

/** Answer to `host.shown_in`: the sockets of the sessions in which clients run that show this one. */
export const ShownInSchema = v.object({ name: v.string(), shown_in: v.array(v.string()) });
export type Attach = v.InferInput<typeof AttachSchema>;

export const ResizeSchema = v.object({ rows: SideSchema, cols: SideSchema });

/** The person asked what the prefix key can do, or has seen it. */
export const HelpSchema = v.object({ shown: v.boolean() });

const LevelSchema = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255));
const RgbSchema = v.optional(v.object({ r: LevelSchema, g: LevelSchema, b: LevelSchema }));

/** What a terminal answered about its colours; programs that ask the session are told so. */
export const TerminalColorsSchema = v.object({ foreground: RgbSchema, background: RgbSchema, cursor: RgbSchema });
export type TerminalColors = v.InferOutput<typeof TerminalColorsSchema>;

/**
 * The terminal has taken so many bytes of the program's since it last became a relay, and shows so many pictures of those
 * that were sent since the client attached; nothing waits.
 */
export const WrittenSchema = v.object({ bytes: v.number(), pictures: v.optional(v.number()) });

/** What stays at a terminal when all its modes are reset: palette, mouse pointer, progress bar, tab stops. */
export const lastingChanges = ["colors", "pointer", "progress", "tabs"] as const;
export type LastingChange = (typeof lastingChanges)[number];

/** What the host tells an attached terminal besides output and pictures. */
export const AttachEventSchema = v.variant("event", [
  /** The program's own bytes follow, beginning with its whole screen: the terminal is to be as after a reset. */
  v.object({ event: v.literal("relay") }),
  /** Somebody captured the keyboard, or gave it back. */
  v.object({ event: v.literal("keyboard"), captured: v.boolean() }),
  /** The host has opened the terminal: it takes over the keys when they are left to it (`host.keys`). */
  v.object({ event: v.literal("opened") }),
  /** The program's own bytes change what no reset of modes undoes: to be undone when the terminal is given back. */
  v.object({ event: v.literal("changed"), changes: v.array(v.picklist(lastingChanges)) }),
]);
