/**
 * Steps of a walk: each with its weight and the condition under which it is possible. A step waits for its
 * effect and changes the expected state accordingly; the world is checked after each.
 */

import { hasEnded, stopProcess } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { vanish } from "../faults/vanish.ts";
import { McpPipe } from "./mcp-pipe.ts";
import type { Known, World } from "./world.ts";

/** Running sessions at the same time, at most. */
const MOST_SESSIONS = 5;
/** While a process hangs, operations on others take no longer than this, in ms: a busy machine, not a wait. */
const PROMPT_MS = 8_000;

export interface Dice {
  /** An integer from 0 to n - 1. */
  below(n: number): number;
  pick<T>(list: readonly T[]): T;
}

interface Step {
  readonly name: string;
  readonly weight: number;
  possible(world: World): boolean;
  /** Returns a description for the log. */
  run(world: World, dice: Dice): Promise<string>;
}

const anySession = ({ sessions }: World): boolean => sessions.length > 0;
const withViewer = ({ sessions }: World): boolean => sessions.some(({ viewer }) => viewer !== null);
const viewed = ({ sessions }: World): Known[] => sessions.filter(({ viewer }) => viewer !== null);
const unviewed = ({ sessions }: World): Known[] => sessions.filter(({ viewer }) => viewer === null);
const size = (dice: Dice): { rows: number; cols: number } => ({ rows: 8 + dice.below(25), cols: 30 + dice.below(80) });

/** Types a command that prints a mark. The typed text itself does not look like one. */
async function printMark(
  world: World,
  known: Known,
  type: (text: string) => Promise<unknown> | unknown,
): Promise<void> {
  const mark = world.nextMark();
  await type(`echo ma''${mark.slice(2)}\r`);
  known.marks.push(mark);
  await until(`${mark} in ${known.name}`, async () => (await world.screenOf(known)).includes(mark));
  await world.atPrompt(known);
}

function viewerOf(known: Known): NonNullable<Known["viewer"]> {
  if (known.viewer === null) throw new Error(`${known.name} has no terminal`);
  return known.viewer;
}

/** A terminal has gone: its client's exit code, and the line that it left. */
async function left(known: Known, code: number, message?: string): Promise<void> {
  const viewer = viewerOf(known);
  const seen = await viewer.exited;
  if (seen !== code) throw new Error(`the client of ${known.name} ended with ${seen}, not ${code}`);
  if (message !== undefined) await viewer.shows(message);
  viewer[Symbol.dispose]();
  known.viewer = null;
}

/** The session has ended; its terminal, if there is one, shows why. */
async function gone(world: World, known: Known, code: number, message: string): Promise<void> {
  if (known.viewer !== null) await left(known, code, message);
  world.forget(known);
}

export const steps: readonly Step[] = [
  {
    name: "create",
    weight: 6,
    possible: ({ sessions }) => sessions.length < MOST_SESSIONS,
    async run(world, dice) {
      const name = `s${world.nextMark().slice(5)}`;
      const { rows, cols } = size(dice);
      if (world.server !== null && dice.below(2) === 0) {
        const body = JSON.stringify({ name, rows, cols });
        const headers = { "Content-Type": "application/json" };
        const { status } = await world.wsh.fetch("/sessions", { method: "POST", body, headers });
        if (status !== 201) throw new Error(`creating over HTTP: ${status}`);
      } else await world.wsh.ok("new", name, "--size", `${cols}x${rows}`);
      await world.adopt(name);
      return name;
    },
  },
  {
    name: "send",
    weight: 6,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      await printMark(world, known, (text) => world.wsh.ok("send", known.name, text));
      return known.name;
    },
  },
  {
    name: "exec",
    weight: 8,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const mark = world.nextMark();
      const code = dice.below(4) * 7;
      const {
        stdout,
        code: seen,
        stderr,
      } = await world.wsh.run("exec", known.name, "--", `echo ${mark}; (exit ${code})`);
      if (stdout !== `${mark}\n` || seen !== code) throw new Error(`exec: ${seen} ${stdout} ${stderr}`);
      known.marks.push(mark);
      await world.atPrompt(known);
      return `${known.name} ${code}`;
    },
  },
  {
    name: "attach",
    weight: 6,
    possible: (world) => unviewed(world).length > 0,
    async run(world, dice) {
      const known = dice.pick(unviewed(world));
      const { rows, cols } = size(dice);
      world.attach(known, rows, cols);
      return `${known.name} ${rows}x${cols}`;
    },
  },
  {
    name: "type",
    weight: 8,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      await printMark(world, known, (text) => viewerOf(known).type(text));
      return known.name;
    },
  },
  {
    name: "resize the terminal",
    weight: 5,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      const { rows, cols } = size(dice);
      viewerOf(known).resize(rows, cols);
      return `${known.name} ${rows}x${cols}`;
    },
  },
  {
    name: "resize a session",
    weight: 2,
    possible: (world) => unviewed(world).length > 0,
    async run(world, dice) {
      const known = dice.pick(unviewed(world));
      const { rows, cols } = size(dice);
      await world.wsh.ok("resize", known.name, `${cols}x${rows}`);
      return `${known.name} ${rows}x${cols}`;
    },
  },
  {
    name: "flood",
    weight: 2,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const { code } = await world.wsh.run("exec", known.name, "--", "seq 1 20000");
      if (code !== 0) throw new Error(`the flood ended with ${code}`);
      known.marks = [];
      await world.wsh.ok("clear", known.name);
      await printMark(world, known, (text) => world.wsh.ok("send", known.name, text));
      return known.name;
    },
  },
  {
    name: "full screen",
    weight: 2,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      await world.wsh.ok(
        "send",
        known.name,
        "--enter",
        "printf '\\033[?1049h\\033[2J\\033[Hdrawn'; read x; tput rmcup",
      );
      await until("the full screen", async () => (await world.screenOf(known))[0] === "drawn");
      if (known.viewer !== null) await known.viewer.shows("drawn");
      await world.wsh.ok("send", known.name, "--enter", "");
      await world.atPrompt(known);
      return known.name;
    },
  },
  {
    name: "draw an overlay",
    weight: 3,
    possible: ({ sessions }) => sessions.some(({ overlays }) => overlays.length < 3),
    async run(world, dice) {
      const known = dice.pick(world.sessions.filter(({ overlays }) => overlays.length < 3));
      const box = { x: dice.below(40), y: dice.below(10), text: `[over ${known.overlays.length}]` };
      const { x, y, text } = box;
      const input = { x, y, width: text.length, height: 1, spans: [{ text }] };
      const { id } = await world.ask(known, (client) => client.call("overlay.create", input));
      known.overlays.push({ ...box, id });
      return `${known.name} ${x},${y}`;
    },
  },
  {
    name: "remove an overlay",
    weight: 2,
    possible: ({ sessions }) => sessions.some(({ overlays }) => overlays.length > 0),
    async run(world, dice) {
      const known = dice.pick(world.sessions.filter(({ overlays }) => overlays.length > 0));
      const box = dice.pick(known.overlays);
      await world.ask(known, (client) => client.call("overlay.delete", { id: box.id }));
      known.overlays = known.overlays.filter((other) => other !== box);
      return known.name;
    },
  },
  {
    name: "draw a panel",
    weight: 3,
    possible: ({ sessions }) => sessions.some(({ panels }) => panels.length < 2),
    async run(world, dice) {
      const known = dice.pick(world.sessions.filter(({ panels }) => panels.length < 2));
      const position = dice.pick(["top", "bottom"] as const);
      const text = `panel ${known.panels.length} at the ${position}`;
      const input = { position, height: 1, spans: [{ text }] };
      const { id } = await world.ask(known, (client) => client.call("panel.create", input));
      known.panels.push({ id, position, text });
      return `${known.name} ${position}`;
    },
  },
  {
    name: "remove a panel",
    weight: 2,
    possible: ({ sessions }) => sessions.some(({ panels }) => panels.length > 0),
    async run(world, dice) {
      const known = dice.pick(world.sessions.filter(({ panels }) => panels.length > 0));
      const strip = dice.pick(known.panels);
      await world.ask(known, (client) => client.call("panel.delete", { id: strip.id }));
      known.panels = known.panels.filter((other) => other !== strip);
      return known.name;
    },
  },
  {
    name: "capture the keyboard",
    weight: 3,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      await world.ask(known, async (client) => {
        const before = await client.call("input.keys", { wait_ms: 0 });
        await client.call("input.capture", { lease_ms: 60_000 });
        viewerOf(known).type("xyz");
        let heard = "";
        for (let since = before.seq; heard.length < 3; ) {
          const { keys, seq } = await client.call("input.keys", { since, wait_ms: 20_000 });
          heard += keys.map(({ raw }) => String.fromCharCode(...raw)).join("");
          if (seq === since) throw new Error(`of the captured keys only '${heard}' came`);
          since = seq;
        }
        if (heard !== "xyz") throw new Error(`captured '${heard}'`);
        await client.call("input.release", {});
      });
      await printMark(world, known, (text) => viewerOf(known).type(text));
      return known.name;
    },
  },
  {
    name: "rename",
    weight: 3,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const name = `r${world.nextMark().slice(5)}`;
      await world.wsh.ok("rename", known.name, name);
      const was = known.name;
      known.name = name;
      return `${was} ${name}`;
    },
  },
  {
    name: "tag",
    weight: 2,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const tag = `t${dice.below(4)}`;
      const remove = known.tags.has(tag);
      await world.wsh.ok("tag", known.name, remove ? "--remove" : "--add", tag);
      if (remove) known.tags.delete(tag);
      else known.tags.add(tag);
      return `${known.name} ${tag}`;
    },
  },
  {
    name: "restart the program",
    weight: 2,
    possible: anySession,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const old = known.pid;
      await world.wsh.ok("restart", known.name);
      const info = (await world.wsh.list()).find(({ id }) => id === known.id);
      if (info?.pid == null || info.pid === old) throw new Error(`the restarted shell is ${info?.pid}`);
      known.pid = info.pid;
      await world.atPrompt(known);
      await printMark(world, known, (text) => world.wsh.ok("send", known.name, text));
      return known.name;
    },
  },
  {
    name: "detach with the prefix key",
    weight: 3,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      viewerOf(known).type("\x1c\x1c");
      await left(known, 0, `[detached from session '${known.name}']`);
      return known.name;
    },
  },
  {
    name: "detach from outside",
    weight: 1,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      await world.wsh.ok("detach", known.name);
      await left(known, 0, `[detached from session '${known.name}']`);
      return known.name;
    },
  },
  {
    name: "kill -9 an attached client",
    weight: 3,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      viewerOf(known).signal("SIGKILL");
      await left(known, 137);
      return known.name;
    },
  },
  {
    name: "stop and continue an attached client",
    weight: 2,
    possible: withViewer,
    async run(world, dice) {
      const known = dice.pick(viewed(world));
      viewerOf(known).signal("SIGSTOP");
      await printMark(world, known, (text) => world.wsh.ok("send", known.name, text));
      viewerOf(known).signal("SIGCONT");
      return known.name;
    },
  },
  {
    name: "stop and continue a host",
    weight: 2,
    possible: ({ sessions }) => sessions.length > 1,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const other = dice.pick(world.sessions.filter((one) => one !== known));
      await stopProcess(known.host);
      const began = performance.now();
      const list = await world.wsh.list();
      await printMark(world, other, (text) => world.wsh.ok("send", other.name, text));
      const took = performance.now() - began;
      process.kill(known.host, "SIGCONT");
      if (list.find(({ id }) => id === known.id)?.state !== "unresponsive")
        throw new Error("not shown as unresponsive");
      if (took > PROMPT_MS) throw new Error(`others waited ${took} ms for a stopped host`);
      return known.name;
    },
  },
  {
    name: "kill -9 a host",
    weight: 3,
    possible: ({ sessions }) => sessions.length > 1,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      process.kill(known.host, "SIGKILL");
      await until("the shell to end with its host", () => hasEnded(known.pid));
      await gone(world, known, 1, "crashed:");
      return known.name;
    },
  },
  {
    name: "kill a session",
    weight: 2,
    possible: ({ sessions }) => sessions.length > 1,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      await world.wsh.ok("kill", known.name);
      await gone(world, known, 1, "was killed");
      return known.name;
    },
  },
  {
    name: "exit",
    weight: 3,
    possible: ({ sessions }) => sessions.length > 1,
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      const code = dice.below(3) * 5;
      await world.wsh.ok("send", known.name, "--enter", `exit ${code}`);
      await gone(world, known, code, `exited: ${code}`);
      return `${known.name} ${code}`;
    },
  },
  {
    name: "start a server",
    weight: 6,
    possible: (world) => world.server === null && world.wsh.servers().length === 0,
    async run(world) {
      world.server = await world.wsh.server();
      return String(world.server.pid);
    },
  },
  {
    name: "end the server",
    weight: 4,
    possible: ({ server }) => server !== null,
    async run(world, dice) {
      const signal = dice.pick(["SIGKILL", "SIGTERM", "SIGKILL", "SIGINT"] as const);
      await world.server?.kill(signal);
      world.server = null;
      return signal;
    },
  },
  {
    name: "stop and continue the server",
    weight: 2,
    possible: (world) => world.server !== null && anySession(world),
    async run(world, dice) {
      const pid = world.server?.pid ?? Number.NaN;
      process.kill(pid, "SIGSTOP");
      const known = dice.pick(world.sessions);
      await printMark(world, known, (text) => world.wsh.ok("send", known.name, text));
      process.kill(pid, "SIGCONT");
      return known.name;
    },
  },
  {
    name: "ask through a bridge",
    weight: 5,
    possible: anySession,
    async run(world, dice) {
      world.bridge ??= await McpPipe.open(world.wsh);
      const known = dice.pick(world.sessions);
      const mark = world.nextMark();
      const command = `echo ${mark}; (exit 3)`;
      const result = await world.bridge.tool("wsh_exec", { session: known.name, command });
      if (!JSON.stringify(result).includes(mark) || !JSON.stringify(result).includes('"exit_code":3')) {
        throw new Error(`wsh_exec: ${JSON.stringify(result)}`);
      }
      known.marks.push(mark);
      await world.atPrompt(known);
      return known.name;
    },
  },
  {
    name: "stop and continue the bridge",
    weight: 1,
    possible: (world) => world.bridge !== null && anySession(world),
    async run(world, dice) {
      const known = dice.pick(world.sessions);
      world.bridge?.signal("SIGSTOP");
      await printMark(world, known, (text) => world.wsh.ok("send", known.name, text));
      world.bridge?.signal("SIGCONT");
      await world.bridge?.tool("wsh_list_sessions");
      return known.name;
    },
  },
  {
    name: "delete the runtime directory",
    weight: 2,
    possible: anySession,
    async run(world) {
      vanish(world.wsh.instance.runtimeDir);
      // Not in a list: a server that kept its connections shows sessions that cannot be found by their names yet.
      for (const known of world.sessions) await world.foundAgain(known);
      if (world.server !== null) {
        await until("the server to listen again", async () => {
          return (await world.wsh.fetch("/health").catch(() => null))?.ok === true;
        });
      }
      return "";
    },
  },
  {
    name: "kill -9 the bridge",
    weight: 2,
    possible: ({ bridge }) => bridge !== null,
    async run(world) {
      world.bridge?.signal("SIGKILL");
      await world.bridge?.exited;
      world.bridge = null;
      return "";
    },
  },
];
