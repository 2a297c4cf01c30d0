/** A session in a separate instance, and a person attached to it. */
import { type EmulatorOptions, EmulatorTerminal } from "./terminals/emulator-terminal.ts";
import { until } from "./until.ts";
import { Wsh } from "./wsh.ts";

export interface PersonOptions extends EmulatorOptions {
  /** Text of config.toml. */
  readonly config?: string;
  /** The setting `status`; off by default. */
  readonly status?: "auto" | "on" | "off";
  /** Command of the session in place of a shell. */
  readonly run?: readonly string[];
  readonly seen?: string | RegExp;
}

export async function personAt({ config = "", status = "off", run = [], ...options }: PersonOptions = {}) {
  const wsh = new Wsh({ config, env: { WSH_STATUS: status } });
  await wsh.session("dev", ...(run.length === 0 ? [] : ["--", ...run]));
  const person = await EmulatorTerminal.attach(wsh, "dev", options);
  return {
    wsh,
    person,
    async [Symbol.asyncDispose]() {
      await person[Symbol.asyncDispose]();
      await wsh[Symbol.asyncDispose]();
    },
  };
}

/** Last text that was copied to the terminal's clipboard (OSC 52); null when none was. */
export function copied(person: EmulatorTerminal): string | null {
  const found = [...person.bytes.matchAll(/\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)/g)].at(-1)?.[1];
  return found === undefined ? null : Buffer.from(found, "base64").toString();
}

export async function copies(person: EmulatorTerminal, wanted: string): Promise<void> {
  await until(`the clipboard to hold ${JSON.stringify(wanted)}`, () => copied(person) === wanted).catch((error) => {
    throw new Error(`${error.message}; it holds ${JSON.stringify(copied(person))}`);
  });
}
