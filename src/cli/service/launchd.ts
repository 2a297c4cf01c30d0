/**
 * The launchd agent of a server. launchd starts programs with its own PATH and without a locale, so both are written
 * into the file; sessions get them from the server. The text is XML 1.0: no control characters, and no `--` in a
 * comment.
 */
import { UsageError } from "../arguments.ts";

/** launchd's own PATH on macOS. */
const SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";
/** Every macOS has it; C.UTF-8 came late. */
const LOCALE = "en_US.UTF-8";

interface Agent {
  /** Name of the instance. */
  readonly name: string;
  readonly command: readonly string[];
  /** The person's environment, for PATH and LANG. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** @throws UsageError for text that XML cannot contain */
export function launchdAgent({ name, command, env }: Agent): string {
  const label = `wsh.${name}`;
  const words = command.map((word) => `    <string>${xmlText(word)}</string>`).join("\n");
  // In the comment, LABEL replaces a name that XML forbids there.
  const shown = name.includes("--") || name.endsWith("-") ? "LABEL" : label;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save as ~/Library/LaunchAgents/${shown}.plist, then:
       launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/${shown}.plist
     To end it, and its start at login:
       launchctl bootout gui/$(id -u)/${shown}
     PATH and LANG are those of the shell that printed this: sessions start with them. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${xmlText(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${xmlText(absolutePath(env.PATH))}</string>
    <key>LANG</key>
    <string>${xmlText(/utf-?8$/i.test(env.LANG ?? "") ? (env.LANG ?? LOCALE) : LOCALE)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <!-- People type into what runs below it: no limits of a background job. -->
  <key>ProcessType</key>
  <string>Interactive</string>
  <!-- Sessions live in processes of their own and outlive the server. -->
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}

/** The absolute directories of a PATH. */
function absolutePath(path: string | undefined): string {
  const directories = (path ?? "").split(":").filter((directory) => directory.startsWith("/"));
  return directories.length === 0 ? SYSTEM_PATH : [...new Set(directories)].join(":");
}

function xmlText(text: string): string {
  // XML 1.0, production 2: of the control characters only tab and the line ends, which launchd would not keep.
  const refused = /[\u0000-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
  if (refused.test(text)) {
    throw new UsageError(
      `${JSON.stringify(text)} cannot be written to a property list`,
      "Use paths and a PATH without control characters.",
    );
  }
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
