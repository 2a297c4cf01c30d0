/** How a terminal attaches: the one stream request that a person's terminal makes on a session process's socket. */

import * as v from "valibot";
import { alertModes } from "./attention.ts";
import { KeyNameSchema, modeKeyChoices } from "./copy-mode.ts";
import { integerBetween, integerFrom } from "./fields.ts";
import { type LastingChange, lastingChanges } from "./lasting-changes.ts";
import { SideSchema } from "./size.ts";

/**
 * History written into the outer terminal's own scrollback before the screen: the lines that are new since that
 * terminal last detached, all, none, or the newest N lines.
 */
const ScrollbackChoiceSchema = v.union([v.picklist(["new", "all", "none"]), integerFrom(0)]);
export type ScrollbackChoice = v.InferOutput<typeof ScrollbackChoiceSchema>;

/** A terminal as the system identifies it, so that another process can tell whether it has opened the same one. */
const PersonDeviceSchema = v.object({
  path: v.string(),
  /** From stat(2): st_dev, st_ino, st_rdev. */
  device: v.number(),
  inode: v.number(),
  number: v.number(),
  /** The client's process. The terminal is read only while that process runs in the foreground. */
  pid: v.optional(v.number()),
});
export type PersonDevice = v.InferOutput<typeof PersonDeviceSchema>;

/** Variables that a new pane gets from the newest viewer: the session's own may be of a login that is over. */
export const personVariables = ["SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY"] as const;

/** Most keys that a person binds in all tables, operations of one, and the longest name. */
const MAX_BOUND = 2048;
const MAX_CALLS = 16;
const CallSchema = v.object({
  operation: v.pipe(v.string(), v.maxLength(64)),
  input: v.record(v.string(), v.unknown()),
  /** What it is about; absent: the pane that has the focus. */
  target: v.optional(v.pipe(v.string(), v.maxLength(256))),
});
/** What a key does (docs/keys.md). */
const BindingSchema = v.object({
  ...CallSchema.entries,
  /** What it does after that. */
  further: v.optional(v.pipe(v.array(CallSchema), v.maxLength(MAX_CALLS))),
  description: v.optional(v.pipe(v.string(), v.maxLength(256)), ""),
  repeat: v.optional(v.boolean()),
});

/**
 * A terminal in a page: its keys are read in the session process and come numbered (protocol/view.ts); dialogs of its
 * own do what keys ask of the terminal at which they are pressed.
 */
const PageSchema = v.object({
  /** Name of the client across its connections. */
  client: v.pipe(v.string(), v.maxLength(64)),
  /** What people call it. */
  name: v.pipe(v.string(), v.maxLength(128)),
  /** Most pictures that are sent and not confirmed. */
  credit: integerBetween(1, 64),
});

/** What the person's settings say of one terminal. */
const personEntries = {
  /** Whether it may receive the program's own bytes; if false, it is rendered on its current screen. */
  pass_through: v.optional(v.boolean(), true),
  /** The prefix key's name as the person knows it; null when there is none. */
  prefix: v.nullable(v.string()),
  /**
   * The person's changes to the tables of bindings: a key after the prefix by its name, any other as `TABLE:NAME`; null
   * binds a key to nothing.
   */
  bindings: v.optional(
    v.pipe(
      v.record(KeyNameSchema, v.nullable(BindingSchema)),
      v.check((table) => Object.keys(table).length <= MAX_BOUND),
    ),
    {},
  ),
  /** The style of keys in copy mode. */
  mode_keys: v.optional(v.picklist(modeKeyChoices), "vi"),
  /** Time after a key that repeats in which it needs no prefix, in ms. */
  repeat_ms: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(60_000)), 500),
  /** Settings escape_ms and key_help_ms. */
  escape_ms: v.optional(v.number(), 10),
  key_help_ms: v.optional(v.number(), 400),
};

/** The person's settings have changed, or cannot be read: the old ones stay in force then. */
export const PersonSettingsSchema = v.union([v.object({ fault: v.string() }), v.object(personEntries)]);
export type PersonSettings = v.InferInput<typeof PersonSettingsSchema>;

export const AttachSchema = v.object({
  ...personEntries,
  rows: SideSchema,
  cols: SideSchema,
  scrollback: ScrollbackChoiceSchema,
  /** A viewer only: sends no keys and never decides the size. */
  read_only: v.boolean(),
  /** Never receives the program's own bytes: it draws on a screen of its own. */
  render_only: v.boolean(),
  /** Overlays and panels are shown without colours (NO_COLOR); programs keep their colours. */
  no_color: v.optional(v.boolean(), false),
  /** Identifies the terminal for as long as it keeps its scrollback; absent where it has no unique identity. */
  outer: v.optional(v.pipe(v.string(), v.maxLength(256))),
  /** Socket of the session that the client runs in; absent outside. */
  around: v.optional(v.pipe(v.string(), v.maxLength(4096))),
  /** The client puts what programs copy into the clipboard itself, and is told of it (`copied`). */
  copies: v.optional(v.boolean(), false),
  /** By a session that has this one as a view, and composes what it gets: sizes are applied at once, keys have been read already. */
  composed: v.optional(v.boolean(), false),
  /** Where the person's agents and screens are: SSH_AUTH_SOCK, DISPLAY, WAYLAND_DISPLAY. */
  environment: v.optional(v.record(v.picklist(personVariables), v.pipe(v.string(), v.maxLength(4096))), {}),
  /** Variables of the setting update_environment at the terminal; absent: it brings none. */
  brought: v.optional(
    v.record(v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)), v.pipe(v.string(), v.maxLength(4096))),
  ),
  /** How the terminal shows a notification. */
  notifies: v.optional(v.picklist(alertModes), "bell"),
  /** Whether the terminal shows UTF-8. */
  utf8: v.optional(v.boolean(), true),
  /** The viewer has an active window, pane and zoom of its own. */
  independent: v.optional(v.boolean(), false),
  /** Pictures say where panes are, and which lines their rows. */
  places: v.optional(v.boolean(), false),
  /** The echo of a key comes as output before the picture that has it: for who can write it where the cursor is. */
  ahead: v.optional(v.boolean(), false),
  /** Takes no part in the session's size, and is shown the session in its own. */
  follow: v.optional(v.boolean(), false),
  /** Decides the session's size only while nobody else does, and shows what fits: a view, a terminal by its person's wish. */
  observe: v.optional(v.boolean(), false),
  /** It shows images of programs: it need not be asked. */
  pictures: v.optional(v.boolean(), false),
  /** A terminal in a page. */
  page: v.optional(PageSchema),
  /** The terminal, if the session process may open it and carry keys and the program's bytes without the client. */
  terminal: v.optional(PersonDeviceSchema),
});

/** Answer to `peer.shown_in`: the sockets of the sessions that run a client showing this session. */
export const ShownInSchema = v.object({ name: v.string(), shown_in: v.array(v.string()) });
export type Attach = v.InferInput<typeof AttachSchema>;

/** How a session attaches to what one of its panes is a view of: it wants pictures to compose, and has the terminals itself. */
export const composedAttach = {
  scrollback: "none",
  read_only: false,
  render_only: true,
  pass_through: false,
  prefix: null,
  composed: true,
  places: true,
  ahead: true,
} as const satisfies Partial<Attach>;

export const ResizeSchema = v.object({ rows: SideSchema, cols: SideSchema, follow: v.optional(v.boolean(), false) });

/** The person looks at a terminal in a page, or at something else. */
export const FocusSchema = v.object({ on: v.boolean() });

/** The person hesitates after the prefix key, or has pressed another one. */
export const HelpSchema = v.object({ shown: v.boolean(), table: v.optional(KeyNameSchema, "prefix") });

const LevelSchema = integerBetween(0, 255);
export const RgbSchema = v.optional(v.object({ r: LevelSchema, g: LevelSchema, b: LevelSchema }));

/** Pixels: more than any font has are a mistake, and would be multiplied. */
const CellSideSchema = integerBetween(1, 1000);
/** The terminal's answers about its colours and keyboard, passed on to programs that ask the session. */
export const TerminalColorsSchema = v.object({
  foreground: RgbSchema,
  background: RgbSchema,
  cursor: RgbSchema,
  /** It has kitty's keyboard protocol. */
  kitty: v.optional(v.boolean()),
  /** It has kitty's graphics protocol, and the colours that number pictures. */
  graphics: v.optional(v.boolean()),
  /** It has sixel graphics, and not these. */
  sixel: v.optional(v.boolean()),
  /** Pixels of one of its cells. */
  cell: v.optional(v.object({ width: CellSideSchema, height: CellSideSchema })),
});
export type TerminalColors = v.InferOutput<typeof TerminalColorsSchema>;

/**
 * Bytes of the program that the terminal has taken since pass-through last began, and pictures sent since the client
 * attached that it shows; nothing is queued.
 */
export const WrittenSchema = v.object({ bytes: v.number(), pictures: v.optional(v.number()) });

/** A sequence of a program by which a terminal does something besides showing. */
export interface OuterEffect {
  readonly bytes: Uint8Array;
  readonly isNotification: boolean;
  /** What of it resetting modes does not undo; null: nothing. */
  readonly change: LastingChange | null;
}

/** The same, as a session with a view learns of it. */
export const EffectEventSchema = v.object({
  event: v.literal("effect"),
  bytes: v.pipe(v.string(), v.base64()),
  isNotification: v.boolean(),
  change: v.nullable(v.picklist(lastingChanges)),
});

export function effectEvent({ bytes, ...rest }: OuterEffect): v.InferOutput<typeof EffectEventSchema> {
  return { event: "effect", ...rest, bytes: btoa(String.fromCharCode(...bytes)) };
}

/** A person pressed this key, by its name in the table of bindings: after the prefix key, or in another table. */
export const BoundKeySchema = v.object({
  key: KeyNameSchema,
  table: v.optional(KeyNameSchema, "prefix"),
  /** Its bytes, for the program where the key means nothing now. */
  bytes: v.optional(v.array(v.number()), []),
});
export type BoundKey = v.InferOutput<typeof BoundKeySchema>;

/** What the session process tells an attached terminal besides output and pictures. */
export const AttachEventSchema = v.variant("event", [
  /** The program's own bytes follow, beginning with its whole screen: the terminal must be in its reset state. */
  v.object({ event: v.literal("pass_through") }),
  /** Settings have changed: the client reads its own anew, and sends what is in force now (`peer.settings`). */
  v.object({ event: v.literal("settings") }),
  /** A caller captured or released the keyboard. */
  v.object({ event: v.literal("keyboard"), captured: v.boolean() }),
  /**
   * The session process has opened the terminal to write there. `keys`: it also reads the keys, once the client hands
   * them over (`peer.keys`).
   */
  v.object({ event: v.literal("opened"), keys: v.boolean() }),
  /** Input of a page up to this number has been taken; sent once when it attaches, then with the name of the record. */
  v.object({ event: v.literal("took"), n: v.number(), record: v.optional(v.string()) }),
  /** A key asks this of the page. */
  v.object({ event: v.literal("wanted"), operation: v.string() }),
  /** A program has copied text, as base64, while this terminal was the one in use. */
  v.object({ event: v.literal("copied"), base64: v.string() }),
  /** An agent needs somebody: the terminal is sent this, BEL or a notification. */
  v.object({ event: v.literal("alert"), text: v.string() }),
  /** The images that the terminal is to have from now on: to be removed when the client leaves it. */
  v.object({ event: v.literal("images"), ids: v.array(v.number()) }),
  /** The program's own bytes change what no reset of modes undoes: to be undone when the client leaves the terminal. */
  v.object({ event: v.literal("changed"), changes: v.array(v.picklist(lastingChanges)) }),
  /**
   * What a key of the person started in this pane wants their terminal to show another session. Told to who composes
   * panes, and knows whose key it was.
   */
  v.object({ event: v.literal("go"), socket: v.string(), number: v.number(), session: v.string() }),
  /** The session is served at another socket from now on: the stream goes on there, and this one is over. */
  v.object({
    event: v.literal("moved"),
    socket: v.string(),
    /** Number of another session that the person goes to; absent: it is the same one. */
    session: v.optional(v.number()),
    /** Typed, and not yet given to any program: it goes first there. */
    typed: v.optional(v.array(v.union([BoundKeySchema, v.object({ bytes: v.array(v.number()) })])), []),
  }),
]);

export type AttachEvent = v.InferOutput<typeof AttachEventSchema>;

/** Longest line of the command palette, in characters. */
export const MAX_LINE = 2000;
