/** What the client says of itself and its terminal when it attaches. */
import type { Binding } from "../keys/bindings.ts";
import type { Prefix } from "../keys/prefix.ts";
import {
  type Attach,
  type LookInput,
  type PersonDevice,
  personVariables,
  type ScrollbackChoice,
} from "../protocol/attach.ts";
import type { Size } from "../protocol/size.ts";
import { outerName } from "./outer-name.ts";
import { type StyleSettings, showsUtf8 } from "./paint/modes.ts";

interface Options extends StyleSettings {
  readonly size: Size;
  readonly device: PersonDevice | null;
  readonly scrollback: ScrollbackChoice;
  /** The client puts copies into the system's clipboard. */
  readonly copies: boolean;
  readonly independent?: boolean;
  /** Its size counts only while no other terminal's does. */
  readonly follow?: boolean;
  readonly readOnly: boolean;
  readonly altScreen: boolean;
  readonly prefix: Prefix | null;
  readonly bindings: Readonly<Record<string, Binding | null>>;
  readonly around: string | null;
  readonly modeKeys: LookInput["keys"];
}

export function attachRequest(options: Options): Attach {
  const { env } = process;
  const { size, device, scrollback, colors, copies, around, bindings } = options;
  return {
    ...size,
    scrollback,
    independent: options.independent === true,
    observe: options.follow === true,
    utf8: showsUtf8(env),
    environment: Object.fromEntries(personVariables.flatMap((name) => (env[name] ? [[name, env[name] ?? ""]] : []))),
    read_only: options.readOnly,
    paint_only: options.altScreen,
    // A program's own bytes may use any colour and any underline.
    relay: (colors === "auto" || colors === "truecolor") && options.underlines !== "plain",
    no_color: (env.NO_COLOR ?? "") !== "",
    copies,
    prefix: options.prefix?.label ?? null,
    bindings: { ...bindings },
    mode_keys: options.modeKeys,
    ...(device === null ? {} : { terminal: device }),
    ...outerField(device),
    ...(around === null ? {} : { around }),
  };
}

function outerField(device: PersonDevice | null): { readonly outer?: string } {
  const outer = device === null ? null : outerName(device);
  return outer === null ? {} : { outer };
}
