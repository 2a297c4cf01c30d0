/** The client's description of itself and its terminal when it attaches. */

import { type Attach, type PersonDevice, personVariables, type ScrollbackChoice } from "../protocol/attach.ts";
import { notificationSupport } from "../protocol/attention.ts";
import { present } from "../protocol/defined.ts";
import type { Size } from "../protocol/size.ts";
import type { LivePersonSettings } from "./person-settings.ts";
import { showsUtf8 } from "./render/modes.ts";
import { terminalIdentity } from "./terminal-identity.ts";

/** Longest value of a variable that the terminal brings, in characters. */
const MAX_VALUE = 4_096;

interface AttachRequestOptions {
  readonly person: LivePersonSettings;
  readonly size: Size;
  readonly device: PersonDevice | null;
  readonly scrollback: ScrollbackChoice;
  /** The client copies texts of programs to the system's clipboard. */
  readonly copies: boolean;
  readonly independent?: boolean;
  /** The terminal's size counts only while no other terminal's does. */
  readonly follow?: boolean;
  readonly readOnly: boolean;
  readonly altScreen: boolean;
  readonly around: string | null;
  /** Names of variables that it brings; null: none, to another machine. */
  readonly broughtNames: readonly string[] | null;
}

export function buildAttachRequest(options: AttachRequestOptions): Attach {
  const { env } = process;
  const { notifies, shows } = notificationSupport(env);
  const { size, device, scrollback, copies, around } = options;
  return {
    ...options.person.settings,
    ...size,
    scrollback,
    independent: options.independent === true,
    observe: options.follow === true,
    utf8: showsUtf8(env),
    notifies,
    shows: [...shows],
    ...(options.broughtNames === null ? {} : { brought: pickVariables(options.broughtNames, env) }),
    environment: Object.fromEntries(personVariables.flatMap((name) => (env[name] ? [[name, env[name] ?? ""]] : []))),
    read_only: options.readOnly,
    render_only: options.altScreen,
    no_color: (env.NO_COLOR ?? "") !== "",
    copies,
    ...present({ terminal: device }),
    ...outerField(device),
    ...present({ around }),
  };
}

function pickVariables(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name): [string, string][] => (env[name] ? [[name, env[name].slice(0, MAX_VALUE)]] : [])),
  );
}

function outerField(device: PersonDevice | null): { readonly outer?: string } {
  const outer = device === null ? null : terminalIdentity(device);
  return present({ outer });
}
