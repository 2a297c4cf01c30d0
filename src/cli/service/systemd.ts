/**
 * The systemd user unit of a server. Stopping it ends only the main process, and it keeps running when a
 * session is out of memory.
 */

export function systemdUnit(name: string, command: readonly string[]): string {
  const unit = name === "default" ? "wsh.service" : `wsh-${name}.service`;
  return `# Save as ~/.config/systemd/user/${unit}, then: systemctl --user enable --now ${unit}
# To start without a login: loginctl enable-linger
[Unit]
Description=wsh terminal sessions (${name})

[Service]
ExecStart=${command.map(systemdWord).join(" ")}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
# Sessions live in processes of their own and outlive the server.
KillMode=process
OOMPolicy=continue

[Install]
WantedBy=default.target
`;
}

/** One word of ExecStart: quoted, with the specifiers and variables of systemd.service(5) escaped. */
function systemdWord(word: string): string {
  const literal = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@%+=:,./$-]+$/.test(literal) ? literal : `"${literal.replace(/["\\]/g, "\\$&")}"`;
}
