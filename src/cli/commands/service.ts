/**
 * `wsh service`: units with which a system keeps the server running. Sessions are separate processes, so the unit must
 * not end them with the server: systemd ends the main process only and continues when one of them is out of memory.
 * Printed, not installed; a message says where it goes.
 */
import { resolve } from "node:path";
import type { Command } from "commander";
import { selfCommand } from "../../instance/launch/launch.ts";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print } from "../print.ts";

export function register(program: Command): void {
  program
    .command("service <system>")
    .description("Print a unit that keeps the server running: systemd (user unit) or launchd (agent).")
    .option("--bind <address>", "TCP address HOST:PORT, or none", "none")
    .action(async (system: string, { bind }: { readonly bind: string }, command: Command) => {
      const { name } = instanceOf(command);
      const start = selfCommand(["server", "--server-name", name, "--bind", bind]).map((part) =>
        part.startsWith(".") ? resolve(part) : part,
      );
      if (system === "systemd") return print(systemdUnit(name, start));
      if (system === "launchd") return print(launchdPlist(name, start));
      throw new UsageError(`unknown system '${system}'`, "Use systemd or launchd.");
    });
}

function systemdUnit(name: string, start: readonly string[]): string {
  const unit = name === "default" ? "wsh.service" : `wsh-${name}.service`;
  return `# Save as ~/.config/systemd/user/${unit}, then: systemctl --user enable --now ${unit}
# To start without a login: loginctl enable-linger
[Unit]
Description=wsh terminal sessions (${name})

[Service]
ExecStart=${start.map(systemdWord).join(" ")}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
# Sessions live in processes of their own and outlive the server.
KillMode=process
OOMPolicy=continue

[Install]
WantedBy=default.target
`;
}

/** One word of ExecStart: quoted, with the specifiers and variables of systemd.service(5) taken as text. */
function systemdWord(word: string): string {
  const literal = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@%+=:,./$-]+$/.test(literal) ? literal : `"${literal.replace(/["\\]/g, "\\$&")}"`;
}

function launchdPlist(name: string, start: readonly string[]): string {
  const label = `wsh.${name}`;
  const words = start.map((word) => `    <string>${escapeXml(word)}</string>`).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save as ~/Library/LaunchAgents/${label}.plist, then: launchctl load -w ~/Library/LaunchAgents/${label}.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escapeXml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <!-- Sessions live in processes of their own and outlive the server. -->
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
