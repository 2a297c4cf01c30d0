/** The variables that an attached terminal brings into its session (the setting update_environment). Pure. */
import type { Settings } from "./table.ts";

const usuallyBrought = [
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "SSH_AUTH_SOCK",
  "SSH_AGENT_PID",
  "SSH_CONNECTION",
  "KRB5CCNAME",
];

/** Variables that an attached terminal brings. */
export function broughtNames({ update_environment: names }: Pick<Settings, "update_environment">): readonly string[] {
  return names.length === 0 ? usuallyBrought : names;
}
