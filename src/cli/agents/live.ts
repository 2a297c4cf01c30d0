/**
 * The live view of `wsh agents`: queries once a second, redraws, and alerts when an agent begins to need a person. It
 * returns the agent whose session the person chose.
 */
import type { InputEvent } from "../../keys/types.ts";
import { type AgentAlert, alertFor, isAlerting } from "../../protocol/agent.ts";
import { fullScreen, terminalSize } from "../full-screen.ts";
import { print, takesColor } from "../print.ts";
import { picture } from "./live-rows.ts";
import type { AgentRow } from "./rows.ts";

/** Time between two queries, in ms: ages are shown in seconds. */
const REFRESH_MS = 1_000;
/** Alternate screen, cursor hidden; and back. */
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";

interface LiveOptions {
  readonly find: () => Promise<readonly AgentRow[]>;
  readonly alert: AgentAlert;
}

/** @returns the chosen agent; null when the person left */
export async function watchAgents({ find, alert }: LiveOptions): Promise<AgentRow | null> {
  let rows = await find();
  /** The cursor stays on its row, wherever the row moves. */
  let selectedPane = rows[0]?.pane_id;
  let alerted = panesNeedingPerson(rows);
  const selected = (): number =>
    Math.max(
      0,
      rows.findIndex(({ pane_id }) => pane_id === selectedPane),
    );
  const draw = (): Promise<void> => {
    const options = { color: takesColor(process.stdout), selected: selected(), now: Date.now() };
    const lines = picture(rows, { ...terminalSize(), ...options, home: process.env.HOME });
    return print(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J`);
  };
  const move = (by: number): void => {
    selectedPane = rows[Math.max(0, Math.min(rows.length - 1, selected() + by))]?.pane_id;
  };
  let isOver = false;
  const refresh = async (): Promise<void> => {
    while (!isOver) {
      await Bun.sleep(REFRESH_MS);
      const found = await find().catch(() => null);
      if (isOver) return;
      // A failed query leaves the known rows.
      rows = found ?? rows;
      const now = panesNeedingPerson(rows);
      for (const row of rows) {
        if (now.has(keyOf(row)) && !alerted.has(keyOf(row))) await print(alertFor(alert, row.target, row.agent));
      }
      alerted = now;
      await draw();
    }
  };
  const handleInput = (events: readonly InputEvent[], done: (row: AgentRow | null) => void): void => {
    for (const event of events) {
      switch (pressed(event)) {
        case "up":
          move(-1);
          break;
        case "down":
          move(1);
          break;
        case "choose": {
          const row = rows[selected()];
          if (row !== undefined) done(row);
          break;
        }
        case "leave":
          done(null);
          break;
        case null:
          break;
      }
    }
    void draw();
  };
  void refresh();
  try {
    return await fullScreen<AgentRow | null>({ enter: ENTER, leave: LEAVE, draw, handleInput });
  } finally {
    isOver = true;
  }
}

function keyOf({ pane_id, agent }: AgentRow): string {
  return `${pane_id} ${agent.pid} ${agent.state} ${agent.since}`;
}

function panesNeedingPerson(rows: readonly AgentRow[]): ReadonlySet<string> {
  return new Set(rows.filter(({ agent }) => isAlerting(agent)).map(keyOf));
}

function pressed(event: InputEvent): "up" | "down" | "choose" | "leave" | null {
  if (event.kind !== "key" || event.parsed === null) return null;
  const { key, modifiers } = event.parsed;
  switch (modifiers.includes("ctrl") ? `Ctrl+${key.toLowerCase()}` : key) {
    case "ArrowUp":
    case "Ctrl+p":
    case "k":
      return "up";
    case "ArrowDown":
    case "Ctrl+n":
    case "j":
      return "down";
    case "Enter":
    case "Ctrl+m":
      return "choose";
    case "Escape":
    case "Ctrl+c":
    case "Ctrl+d":
    case "q":
      return "leave";
    default:
      return null;
  }
}
