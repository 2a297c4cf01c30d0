/** MCP: time to the first answer, duration of a call, cost of waiting, and cost of a task to a model. */
import { type Figure, figure, percentile } from "./figure.ts";
import { McpLines } from "./mcp-lines.ts";
import type { Measure } from "./measure.ts";
import { pss, workOver } from "./process.ts";
import { installed, type Stage } from "./stage.ts";
import { timed } from "./timed.ts";
import { twelveTasks } from "./twelve-tasks.ts";

const ROUNDS = 15;
const CALLS = 1_000;
const COMMANDS = 200;
/** Concurrent calls. */
const TOGETHER = 50;
const WAITS = 100;
/** Time after the last call until memory is released, in ms. */
const REST_MS = 15_000;
/** Duration of the observation of open waits, in ms. */
const WATCH_MS = 5_000;
/** Characters that count as one token; libtmux-mcp's published figures are tokens of a tokenizer, so these are approximate. */
const CHARACTERS_PER_TOKEN = 4;
/** DesktopCommander's program, if it is installed. */
const PEER = "desktop-commander";
/** How long it waits for a command, in ms: the server is ready by then. */
const PEER_LIMIT_MS = 7_000;
/** How long the development server of the task takes to be ready, in seconds; libtmux-mcp's took 45. */
const SERVER_READY_S = 5;

export const mcpStart: Measure = {
  name: "mcp-start",
  async run(stage) {
    const [cold, warm]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      cold.push(await firstReply(stage));
      await stage.clear();
      await stage.server();
      await firstReply(stage);
      warm.push(await firstReply(stage));
      await stage.clear();
    }
    return {
      title: "First reply of `wsh mcp`, ms",
      columns: ["start → answer to initialize"],
      lines: [
        { who: "no server runs", figures: [figure(cold)] },
        { who: "a server runs", figures: [figure(warm)] },
      ],
      goal: "120 ms when no server runs",
      meaning: `${ROUNDS} rounds. The bridge starts, makes or finds the server, and the server loads the SDK for its first caller.`,
    };
  },
};

async function firstReply(stage: Stage): Promise<number> {
  const began = performance.now();
  using lines = new McpLines(stage);
  await lines.initialize();
  return performance.now() - began;
}

export const mcpCalls: Measure = {
  name: "mcp",
  async run(stage) {
    const server = await stage.server();
    using lines = new McpLines(stage);
    await lines.initialize();
    await lines.call("wsh_create_session", { name: "work" });
    await lines.call("wsh_wait", { session: "work", any_of: ["prompt"] });
    const look = { session: "work", format: "plain", rows: 1 };
    await timed(50, () => lines.call("wsh_get_screen", look));

    const stdio = await timed(CALLS, () => lines.call("wsh_get_screen", look));
    const http = await timed(CALLS, () => overHttp(stage, look));
    const late: number[] = [];
    for (let at = 0; at < COMMANDS; at++) {
      // The command prints the time as its last action.
      const command = "sleep 0.01; echo at=$EPOCHREALTIME";
      const { value } = await lines.call("wsh_exec", { session: "work", command });
      const ended = Number(/at=(\d+\.\d+)/.exec(value.output)?.[1]) * 1000;
      late.push(performance.timeOrigin + performance.now() - ended);
    }
    const began = performance.now();
    const callers = Array.from({ length: TOGETHER }, () =>
      timed(CALLS / TOGETHER, () => lines.call("wsh_get_screen", look)),
    );
    await Promise.all(callers);
    const rate = (CALLS * 1000) / (performance.now() - began);

    const busy = pss(server);
    await Bun.sleep(REST_MS);
    const rest = { server: pss(server), bridge: pss(lines.child.pid) };
    await lines.call("wsh_get_screen", look);
    const before = pss(server);
    const never = { session: "work", any_of: [{ type: "text", text: "never" }], max_wait_ms: 300_000 };
    for (let at = 0; at < WAITS; at++) void lines.call("wsh_wait", never);
    await lines.call("wsh_get_screen", look);
    const [serverWork, bridgeWork] = await workOver([server, lines.child.pid], WATCH_MS);
    const grown = pss(server) - before;

    const line = (who: string, times: readonly number[]) => ({
      who,
      figures: [figure(times), figure([percentile(times, 0.99)])],
    });
    return {
      title: "MCP calls, ms",
      columns: ["p50", "p99"],
      lines: [
        line("command's end → wsh_exec's result", late),
        line("wsh_get_screen over stdio", stdio),
        line("wsh_get_screen over HTTP (one request, no session)", http),
      ],
      goal: "end → result 5 ms p50, 15 ms p99 (libtmux-mcp publishes 18–21 ms); a call 1.5 ms over stdio",
      meaning:
        `${CALLS} calls one after another, ${COMMANDS} commands that say when they end. ${TOGETHER} calls at once are answered at ` +
        `${Math.round(rate)} a second over stdio. ${WAITS} open waits cost ${grown.toFixed(1)} MB in the server and, in ${WATCH_MS / 1000} s, ` +
        `${serverWork?.cpu ?? 0} ms of its processor time and ${bridgeWork?.cpu ?? 0} ms of the bridge's. ` +
        `The bridge holds ${rest.bridge.toFixed(1)} MB; the server with the SDK loaded ${rest.server.toFixed(1)} MB at rest, ` +
        `${busy.toFixed(1)} after the last of all these calls (PSS).`,
    };
  },
};

/** One request of the era without sessions. */
async function overHttp(stage: Stage, args: object): Promise<void> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch("http://localhost/mcp", {
    unix: stage.socket,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "wsh_get_screen",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "wsh_get_screen", arguments: args, _meta: meta },
    }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}

export const mcpTokens: Measure = {
  name: "mcp-tokens",
  async run(stage) {
    await stage.server();
    using lines = new McpLines(stage);
    await lines.initialize();
    const trivial = await lines.call("wsh_exec", { command: "echo hello" });

    // A development server that prints a lot before it is ready, and never ends.
    const noise = `for i in $(seq 1 ${SERVER_READY_S * 10}); do echo "[$i] bundling module $i of many"; sleep 0.1; done`;
    const command = `${noise}; echo ready on port 3000; sleep 1000`;
    const until = [{ type: "regex", pattern: "ready on port (\\d+)" }];
    const ready = await lines.call("wsh_exec", { command, background: true, until });
    if (ready.value.groups[0] !== "3000") throw new Error(`not ready: ${JSON.stringify(ready.value)}`);

    const failing = "for i in $(seq 1 2000); do echo ok $i; done; echo 'FAIL: sum is 41' >&2; exit 1";
    const tests = await lines.call("wsh_exec", { command: failing, tail: 20 });
    const peer = installed(PEER)
      ? await desktopCommander(stage, { trivial: "echo hello", server: command, failing })
      : null;

    const twelve = await twelveTasks(stage);

    const listed = { characters: await lines.listed() };
    const tokens = ({ characters }: { readonly characters: number }): Figure =>
      figure([Math.ceil(characters / CHARACTERS_PER_TOKEN)]);
    const of = (used: PeerUsed | undefined): (Figure | null)[] =>
      used === undefined ? [null, null] : [tokens(used), used.calls === null ? null : figure([used.calls])];
    const [one, two] = [figure([1]), figure([2])];
    return {
      title: "What tasks cost a model",
      columns: ["tokens", "calls", "DesktopCommander: tokens", "calls", "libtmux-mcp publishes: tokens", "calls"],
      lines: [
        { who: "a trivial command", figures: [tokens(trivial), one, ...of(peer?.trivial), figure([81]), null] },
        { who: "a server until it is ready", figures: [tokens(ready), one, ...of(peer?.server), figure([538]), two] },
        {
          who: "2,000 lines of tests of which one fails",
          figures: [tokens(tests), one, ...of(peer?.failing), null, null],
        },
        {
          who: "twelve tasks of a terminal",
          figures: [tokens(twelve), figure([twelve.calls]), null, null, null, null],
        },
        { who: "the list of tools", figures: [tokens(listed), null, ...of(peer?.listed), null, null] },
      ],
      alone: true,
      goal: "80 tokens for a trivial command; fewer than libtmux-mcp's 538 for a server",
      meaning:
        `Arguments and text of the results, ${CHARACTERS_PER_TOKEN} characters a token. The twelve tasks are done by a script that knows ` +
        "the tools. DesktopCommander is given the same three commands with a time limit that is long enough " +
        `(\`${PEER}\` on the PATH); it tells no exit codes.`,
    };
  },
};

interface PeerUsed {
  readonly characters: number;
  readonly calls: number | null;
}

/** The same commands with DesktopCommander, which answers when a command ends or its time-out is over. */
async function desktopCommander<K extends string>(
  stage: Stage,
  commands: Readonly<Record<K, string>>,
): Promise<Readonly<Record<K | "listed", PeerUsed>>> {
  using lines = new McpLines(stage, [PEER, "--no-onboarding"]);
  await lines.initialize();
  const used: [string, PeerUsed][] = [["listed", { characters: await lines.listed(), calls: null }]];
  for (const [name, command] of Object.entries<string>(commands)) {
    const { characters } = await lines.text("start_process", { command, timeout_ms: PEER_LIMIT_MS });
    used.push([name, { characters, calls: 1 }]);
  }
  return Object.fromEntries(used) as Record<K | "listed", PeerUsed>;
}
