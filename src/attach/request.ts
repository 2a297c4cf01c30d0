/** What the client says of itself and its terminal when it attaches. */
import { type Attach, type PersonDevice, personVariables, type ScrollbackChoice } from "../protocol/attach.ts";
import type { Size } from "../protocol/size.ts";
import type { AttachOptions } from "./attach.ts";
import { outerName } from "./outer-name.ts";
import { showsUtf8 } from "./paint/modes.ts";

type Options = Pick<
  AttachOptions,
  "independent" | "readOnly" | "altScreen" | "colors" | "prefix" | "bindings" | "around"
> & {
  readonly size: Size;
  readonly scrollback: ScrollbackChoice;
  /** The client puts copies into the system's clipboard. */
  readonly copies: boolean;
  readonly device: PersonDevice | null;
};

export function attachRequest(options: Options): Attach {
  const { env } = process;
  const { size, device, scrollback, colors, copies, around, bindings } = options;
  return {
    ...size,
    scrollback,
    independent: options.independent === true,
    utf8: showsUtf8(env),
    environment: Object.fromEntries(personVariables.flatMap((name) => (env[name] ? [[name, env[name] ?? ""]] : []))),
    read_only: options.readOnly,
    paint_only: options.altScreen,
    // A program's own bytes may use any colour.
    relay: colors === "auto" || colors === "truecolor",
    no_color: (env.NO_COLOR ?? "") !== "",
    copies,
    prefix: options.prefix?.label ?? null,
    bindings: { ...bindings },
    ...(device === null ? {} : { terminal: device }),
    ...outerField(device),
    ...(around === null ? {} : { around }),
  };
}

function outerField(device: PersonDevice | null): { readonly outer?: string } {
  const outer = device === null ? null : outerName(device);
  return outer === null ? {} : { outer };
}
