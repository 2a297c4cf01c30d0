/**
 * Runs the programs of keys outside of the panes (`view.run`): by their arguments, without a shell unless one is
 * requested. Loaded at first use. Each runs in a process group of its own, with its session, window and pane in
 * `WSH_*`, and may outlive the session; its output is read up to a limit and discarded.
 */
import type { Instance } from "../../instance/paths.ts";
import { BY_KEY } from "../../launch/key-variable.ts";
import { selfCommand } from "../../launch/launch.ts";
import { isUnlimited } from "../../operations/rights.ts";
import type { Acting } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { DisplayedContent } from "./displayed-content.ts";

/** Programs at the same time for all terminals of a session process: repeating keys start many. */
const MAX_RUNNING = 16;
/** Characters of a failed program's last line to show. */
const MAX_MESSAGE_CHARS = 160;

let running = 0;

export interface RunPort {
  readonly by: Acting;
  readonly instance: Instance;
  readonly session: Pick<Session, "name" | "windows">;
  readonly content: Pick<DisplayedContent, "mouseTargets">;
  readonly isOver: boolean;
  say(text: string): void;
}

/** Starts it and returns; a failure is reported at its end. @throws WshError access_denied, invalid_request */
export function runProgram(input: Readonly<Record<string, unknown>>, port: RunPort): void {
  if (!isUnlimited(port.by)) throw new WshError("access_denied", "this terminal may not run programs outside of panes");
  if (running >= MAX_RUNNING)
    throw new WshError("resource_limit_reached", `${MAX_RUNNING} programs of keys are already running`);
  const { run: programWords, shell } = input;
  const command = Array.isArray(programWords) ? programWords.map(String) : ["sh", "-c", String(shell)];
  // This executable of wsh, whatever PATH contains.
  const argv = command[0] === "wsh" ? selfCommand(command.slice(1)) : command;
  const child = start(argv, port);
  running++;
  void waitForEnd(child).then(({ code, lastErrorLine }) => {
    running--;
    if (code === 0 || port.isOver) return;
    const name = Array.isArray(programWords) ? command[0] : String(shell).split(/\s/, 1)[0];
    port.say(`${name}: ${lastErrorLine === "" ? `exit code ${code}` : lastErrorLine}`);
  });
}

type Child = Bun.Subprocess<"ignore", "pipe", "pipe">;

/** Starts in the directory of the focused pane. */
function start(argv: readonly string[], { instance, session, content }: RunPort): Child {
  const pane = content.mouseTargets.active;
  const panes = session.windows.flatMap((window) => window.panes);
  const cwd = panes.find(({ id }) => id === pane)?.cwd ?? process.cwd();
  const place = { WSH_SESSION: session.name, WSH_PANE: pane, WSH_SOCKET: instance.httpSocket, [BY_KEY]: "1" };
  try {
    return Bun.spawn([...argv], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      detached: true,
      cwd,
      env: { ...process.env, ...place },
    });
  } catch (thrown) {
    const { message } = WshError.from(thrown);
    throw new WshError("invalid_request", `${argv[0]} cannot be started: ${message}`, {}, { cause: thrown });
  }
}

async function waitForEnd(child: Child): Promise<{ readonly code: number; readonly lastErrorLine: string }> {
  const [, errorLine, code] = await Promise.all([readLastLine(child.stdout), readLastLine(child.stderr), child.exited]);
  return { code, lastErrorLine: errorLine };
}

/** The last line that is not empty; earlier output is discarded as it arrives. */
async function readLastLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let end = "";
  for await (const bytes of stream) end = (end + decoder.decode(bytes, { stream: true })).slice(-4 * MAX_MESSAGE_CHARS);
  return (end.trimEnd().split("\n").at(-1) ?? "").slice(0, MAX_MESSAGE_CHARS);
}
