/**
 * The request with which a person's terminal attaches: the only stream request that it sends to a session process's
 * socket.
 */

import * as v from "valibot";
import { alertModes, notificationForms } from "./attention.ts";
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

/** Identity of a terminal in the system, so that another process can tell whether it has opened the same one. */
const PersonDeviceSchema = v.object({
  path: v.string(),
  /** From stat(2): st_dev, st_ino, st_rdev. */
  device: v.number(),
  inode: v.number(),
  number: v.number(),
  /** The client's process. Keys are read from the terminal only while that process runs in the foreground. */
  pid: v.optional(v.number()),
});
export type PersonDevice = v.InferOutput<typeof PersonDeviceSchema>;

/** Variables that a new pane gets from the newest viewer: the session's own may come from a login that has ended. */
export const personVariables = ["SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY"] as const;

/** Maximum keys that a person binds in all tables, operations of one key, and characters of a name. */
const MAX_BOUND = 2048;
const MAX_CALLS = 16;
const CallSchema = v.object({
  operation: v.pipe(v.string(), v.maxLength(64)),
  input: v.record(v.string(), v.unknown()),
  /** Its target; absent: the focused pane. */
  target: v.optional(v.pipe(v.string(), v.maxLength(256))),
});
/** The action of a key (docs/keys.md). */
const BindingSchema = v.object({
  ...CallSchema.entries,
  /** Operations after the first. */
  further: v.optional(v.pipe(v.array(CallSchema), v.maxLength(MAX_CALLS))),
  description: v.optional(v.pipe(v.string(), v.maxLength(256)), ""),
  repeat: v.optional(v.boolean()),
});

/**
 * A terminal in a page: the session process interprets its keys, which arrive numbered (protocol/view.ts); the page's
 * own dialogs replace those of a terminal.
 */
const PageSchema = v.object({
  /** Id of the client, the same over all its connections. */
  client: v.pipe(v.string(), v.maxLength(64)),
  /** Its name for people. */
  name: v.pipe(v.string(), v.maxLength(128)),
  /** Maximum pictures sent but not confirmed. */
  credit: integerBetween(1, 64),
});

/** The person's settings for one terminal. */
const personEntries = {
  /** Whether it may receive the program's own bytes; if false, it is rendered on its current screen. */
  pass_through: v.optional(v.boolean(), true),
  /** The prefix key's label for the person; null: there is none. */
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
  /** Time after a repeatable key in which it needs no prefix, in ms. */
  repeat_ms: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(60_000)), 500),
  /** Settings escape_ms and key_help_ms. */
  escape_ms: v.optional(v.number(), 10),
  key_help_ms: v.optional(v.number(), 400),
};

/** The person's settings after a change, or the error if they cannot be read: then the old ones remain in effect. */
export const PersonSettingsSchema = v.union([v.object({ fault: v.string() }), v.object(personEntries)]);
export type PersonSettings = v.InferInput<typeof PersonSettingsSchema>;

export const AttachSchema = v.object({
  ...personEntries,
  rows: SideSchema,
  cols: SideSchema,
  scrollback: ScrollbackChoiceSchema,
  /** Whether it is only a viewer, which sends no keys and never decides the size. */
  read_only: v.boolean(),
  /** Whether it never receives the program's own bytes, since it draws on a screen of its own. */
  render_only: v.boolean(),
  /** Whether overlays and panels are shown without colours (NO_COLOR); programs keep their colours. */
  no_color: v.optional(v.boolean(), false),
  /** Identifies the terminal while it keeps its scrollback; absent if it has no unique identity. */
  outer: v.optional(v.pipe(v.string(), v.maxLength(256))),
  /** Socket of the session inside which the client runs; absent outside of sessions. */
  around: v.optional(v.pipe(v.string(), v.maxLength(4096))),
  /** Whether the client writes programs' copies to the system's clipboard itself, and so gets them (`copied`). */
  copies: v.optional(v.boolean(), false),
  /**
   * Set by a session that shows this one as a view and composes its pictures: sizes are applied at once, and keys have
   * already been interpreted.
   */
  composed: v.optional(v.boolean(), false),
  /** Whether the session that attaches has the pane, and records its events. */
  records: v.optional(v.boolean(), false),
  /** Variables that locate the person's agents and screens: SSH_AUTH_SOCK, DISPLAY, WAYLAND_DISPLAY. */
  environment: v.optional(v.record(v.picklist(personVariables), v.pipe(v.string(), v.maxLength(4096))), {}),
  /** The terminal's variables according to the setting update_environment; absent: it brings none. */
  brought: v.optional(
    v.record(v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)), v.pipe(v.string(), v.maxLength(4096))),
  ),
  /** How the terminal shows a notification. */
  notifies: v.optional(v.picklist(alertModes), "bell"),
  /** Programs' own notifications that the terminal shows by itself. */
  shows: v.optional(v.array(v.picklist(notificationForms)), []),
  /** Whether the terminal shows UTF-8. */
  utf8: v.optional(v.boolean(), true),
  /** Whether the viewer has its own active window, pane and zoom. */
  independent: v.optional(v.boolean(), false),
  /** Whether pictures include the positions of panes, and the lines of their rows. */
  places: v.optional(v.boolean(), false),
  /**
   * Whether the echo of a key is sent as output before the picture that contains it, for a viewer that can write it at
   * the cursor.
   */
  ahead: v.optional(v.boolean(), false),
  /** Whether it has no influence on the session's size, and shows the session in that size. */
  follow: v.optional(v.boolean(), false),
  /**
   * Whether it decides the session's size only while no other viewer does, and shows the part that fits: a view, or a
   * terminal at its person's request.
   */
  observe: v.optional(v.boolean(), false),
  /** Whether it shows images of programs, so that it need not be asked. */
  pictures: v.optional(v.boolean(), false),
  /** A terminal in a page. */
  page: v.optional(PageSchema),
  /** The terminal, if the session process may open it and carry keys and the program's bytes without the client. */
  terminal: v.optional(PersonDeviceSchema),
});

/** Answer to `peer.shown_in`: the sockets of the sessions that run a client showing this session. */
export const ShownInSchema = v.object({ name: v.string(), shown_in: v.array(v.string()) });
export type Attach = v.InferInput<typeof AttachSchema>;

/**
 * The request of a session for the source of one of its views: it needs pictures to compose, and has the terminals
 * itself.
 */
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

/** Whether the person is viewing a terminal in a page. */
export const FocusSchema = v.object({ on: v.boolean() });

/** The person hesitates after the prefix key, or has pressed another key. */
export const HelpSchema = v.object({ shown: v.boolean(), table: v.optional(KeyNameSchema, "prefix") });

const LevelSchema = integerBetween(0, 255);
export const RgbSchema = v.optional(v.object({ r: LevelSchema, g: LevelSchema, b: LevelSchema }));

/** Pixels: a larger value than any font has is a mistake, and would be multiplied. */
const CellSideSchema = integerBetween(1, 1000);
/** The terminal's answers about its colours and keyboard, passed on to programs that ask the session. */
export const TerminalColorsSchema = v.object({
  foreground: RgbSchema,
  background: RgbSchema,
  cursor: RgbSchema,
  /** Whether it supports kitty's keyboard protocol. */
  kitty: v.optional(v.boolean()),
  /** Whether it supports kitty's graphics protocol, and the colours that number pictures. */
  graphics: v.optional(v.boolean()),
  /** Whether it supports sixel graphics, but not kitty's protocol. */
  sixel: v.optional(v.boolean()),
  /** Whether it hands over images of its clipboard (OSC 5522). */
  images: v.optional(v.boolean()),
  /** Pixels of one of its cells. */
  cell: v.optional(v.object({ width: CellSideSchema, height: CellSideSchema })),
});
export type TerminalColors = v.InferOutput<typeof TerminalColorsSchema>;

/**
 * Bytes of the program that the terminal has taken, and pictures shown, since the client attached; nothing is queued.
 */
export const WrittenSchema = v.object({ bytes: v.number(), pictures: v.optional(v.number()) });

/** A sequence of a program with an effect on the terminal besides drawing. */
export interface OuterEffect {
  readonly bytes: Uint8Array;
  readonly isNotification: boolean;
  /** Its change that resetting modes does not undo; null: none. */
  readonly change: LastingChange | null;
}

/** The same, in the form for a session with a view. */
export const EffectEventSchema = v.object({
  event: v.literal("effect"),
  bytes: v.pipe(v.string(), v.base64()),
  isNotification: v.boolean(),
  change: v.nullable(v.picklist(lastingChanges)),
});

export function effectEvent({ bytes, ...rest }: OuterEffect): v.InferOutput<typeof EffectEventSchema> {
  return { event: "effect", ...rest, bytes: btoa(String.fromCharCode(...bytes)) };
}

/** A key that a person pressed, by its name in the table of bindings: after the prefix key, or in another table. */
export const BoundKeySchema = v.object({
  key: KeyNameSchema,
  table: v.optional(KeyNameSchema, "prefix"),
  /** Its bytes, for the program if the key has no binding now. */
  bytes: v.optional(v.array(v.number()), []),
});
export type BoundKey = v.InferOutput<typeof BoundKeySchema>;

/** Events from the session process to an attached terminal, besides output and pictures. */
export const AttachEventSchema = v.variant("event", [
  /** The program's own bytes follow, beginning with its whole screen; the terminal must be in its reset state. */
  v.object({ event: v.literal("pass_through") }),
  /** Settings have changed: the client reads its settings again, and sends the current ones (`peer.settings`). */
  v.object({ event: v.literal("settings") }),
  /** A caller captured or released the keyboard. */
  v.object({ event: v.literal("keyboard"), captured: v.boolean() }),
  /**
   * The session process has opened the terminal for writing. `keys`: it also reads the keys, once the client hands them
   * over (`peer.keys`).
   */
  v.object({ event: v.literal("opened"), keys: v.boolean() }),
  /** Input of a page up to this number has been received; also sent after attaching, with the name of the record. */
  v.object({ event: v.literal("took"), n: v.number(), record: v.optional(v.string()) }),
  /** A key requests this of the page. */
  v.object({ event: v.literal("wanted"), operation: v.string() }),
  /** A program has copied text, as base64, while this terminal was the one in use. */
  v.object({ event: v.literal("copied"), base64: v.string() }),
  /** An agent needs a person: bytes for the terminal, BEL or a notification. */
  v.object({ event: v.literal("alert"), text: v.string() }),
  /** Images that the terminal has from now on, which the client must remove when it leaves the terminal. */
  v.object({ event: v.literal("images"), ids: v.array(v.number()) }),
  /**
   * Changes by the program's own bytes that resetting modes does not undo: the client must undo them when it leaves the
   * terminal.
   */
  v.object({ event: v.literal("changed"), changes: v.array(v.picklist(lastingChanges)) }),
  /**
   * A client, started in this pane by a key of the person, asks that person's terminal to switch to another session.
   * Sent to the session that composes this pane's picture, which knows whose key it was.
   */
  v.object({ event: v.literal("go"), socket: v.string(), number: v.number(), session: v.string() }),
  /** The session has moved to another socket: the stream continues there and ends here. */
  v.object({
    event: v.literal("moved"),
    socket: v.string(),
    /** Number of the session to which the person switches; absent: the same session. */
    session: v.optional(v.number()),
    /** Input that no program has received yet: it is typed in the new session first. */
    typed: v.optional(v.array(v.union([BoundKeySchema, v.object({ bytes: v.array(v.number()) })])), []),
  }),
]);

export type AttachEvent = v.InferOutput<typeof AttachEventSchema>;

/** Longest line of the command palette, in characters. */
export const MAX_LINE = 2000;
