/** `wsh ports`: the programs that listen on TCP ports, and the panes in which they were started. It needs no server. */
import { type Command, InvalidArgumentError } from "commander";
import { visibleCell } from "../../protocol/harmless-text.ts";
import type { PortHolder } from "../../protocol/ports.ts";
import { portsAnswer } from "../../registry/ports.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText, table } from "../print.ts";
import { localConcealment } from "../session/concealed.ts";

interface PortsOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("ports")
    .description(
      "Print the TCP ports on which programs of sessions listen, with their session and pane. With a port: its listener, " +
        "in a session or not; exit code 1 if there is none.",
    )
    .argument("[port]", "only this port", portNumber)
    .option("--all", "programs outside sessions too")
    .option("--json", "print them as JSON")
    .action(async (port: number | undefined, { all = port !== undefined, json }: PortsOptions, command: Command) => {
      const instance = instanceOf(command);
      const { ports, reason } = portsAnswer(instance, { port, all }, await localConcealment(instance));
      if (json === true) printJson(ports);
      else if (ports.length > 0)
        print(table([["PORT", "ADDRESS", "SESSION", "PANE", "PID", "SINCE", "PROGRAM"], ...ports.map(row)]));
      else
        printText(
          `${reason ?? (port === undefined ? "No program of a session listens on a port" : `No program listens on port ${port}`)}.\n`,
        );
      if (port !== undefined && ports.length === 0) process.exitCode = 1;
    });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("a port is a number from 1 to 65535");
}

function row({ port, addresses, session, pane, pid, since, program }: PortHolder): string[] {
  const when = since === null ? "" : new Date(since).toTimeString().slice(0, 8);
  const place = [session ?? "-", pane ?? "-", pid === null ? "-" : String(pid)];
  return [String(port), addresses.join(" "), ...place, when, visibleCell(program ?? "hidden by the system")];
}
