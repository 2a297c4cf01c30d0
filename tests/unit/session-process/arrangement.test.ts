/** A change of windows and panes with a failing step leaves everything unchanged, and the next one works. */
import { expect, test } from "bun:test";
import { layoutPanels } from "../../../src/compositor/panel-layout.ts";
import type { TerminalColors } from "../../../src/protocol/attach.ts";
import type { Size } from "../../../src/protocol/size.ts";
import {
  addSplit,
  applyPreset,
  applyResize,
  breakPane,
  joinPane,
  showPane,
  swapPanes,
  zoomPane,
} from "../../../src/session/windows/changes.ts";
import { settleSwap, withWindow } from "../../../src/session/windows/order.ts";
import {
  activeWindow,
  addWindow,
  oneWindow,
  paneEntry,
  type Windows,
  windowById,
} from "../../../src/session/windows/state.ts";
import { Arrangement } from "../../../src/session-process/panes/arrangement.ts";
import type { PlacedPane } from "../../../src/session-process/panes/placed-pane.ts";

const AREA: Size = { rows: 40, cols: 120 };
const PANES = ["@1", "@2", "@3", "@4"];

/** Counts the steps of changes, and fails one of them. */
class Steps {
  private left = Number.POSITIVE_INFINITY;

  failAfter(steps: number): void {
    this.left = steps;
  }

  step(): void {
    if (this.left-- === 0) throw new Error("made up");
  }
}

class FakePane implements PlacedPane {
  readonly isView = false;
  readonly hasEnded = false;
  readonly isCurrent = true;
  readonly isSynchronized = false;
  readonly frame = null;
  readonly modes = null;
  readonly pictures = null;
  readonly title = "";
  size: Size = AREA;
  ended = 0;

  constructor(
    readonly id: string,
    private readonly steps: Steps,
  ) {}

  resize(size: Size): void {
    this.steps.step();
    this.size = size;
  }

  type(): void {}
  idleMs = (): number => 0;
  paneInfo = () => ({
    ...{ id: this.id, pid: 1, command: "sh", ...this.size, cwd: "/", title: "", state: "prompt" as const },
  });
  refresh = async (): Promise<void> => {};
  openCopyMode = async (): Promise<void> => {};
  colors: TerminalColors | null = null;
  learnColors(colors: TerminalColors): void {
    this.colors = colors;
  }
  restart = async (): Promise<void> => {};
  endProgram = async (): Promise<void> => void this.ended++;
  close(): void {}
}

function made() {
  const steps = new Steps();
  const arrangement = new Arrangement(oneWindow(1, paneEntry("@1")), AREA, {
    ...{ keepAfterExit: false, wasSplit: false, showsCrashed: false, renumberFrom: null },
    layoutAt: (outer) => layoutPanels([], outer),
  });
  const panes = new Map(PANES.map((id) => [id, new FakePane(id, steps)]));
  for (const [id, pane] of panes) arrangement.placedPanes.set(id, pane);
  const beside = { pane: "@1", side: "right", whole: false, focus: false } as const;
  arrangement.commit(addSplit(arrangement.state, paneEntry("@2"), beside, AREA));
  arrangement.commit(addSplit(arrangement.state, paneEntry("@3"), { ...beside, side: "down" }, AREA));
  for (const event of ["positionsChanged", "changed"] as const) arrangement.events.on(event, () => steps.step());
  const facts = () => ({
    state: arrangement.state,
    sizes: Object.keys(arrangement.state.panes).map((id) => panes.get(id)?.size),
    placed: [...arrangement.placedPanes.keys()],
    ended: [...panes.values()].map(({ ended }) => ended),
    isSplit: arrangement.isSplit,
  });
  return { arrangement, steps, facts };
}

const there = { pane: "@1", side: "down", whole: false, focus: true } as const;
const changes: Readonly<Record<string, (arrangement: Arrangement) => void>> = {
  split: committed((state) => addSplit(state, paneEntry("@4"), there, AREA)),
  "break out": committed((state) => breakPane(state, "@2", 9, AREA, { focus: true })),
  join: committed((state) => joinPane(state, "@2", there, AREA)),
  swap: committed((state) => swapPanes(state, "@1", "@3")),
  resize: committed((state) => applyResize(state, "@1", { kind: "grow", side: "right", by: 7 }, AREA)),
  zoom: committed((state) => zoomPane(state, activeWindow(state).active, true)),
  select: committed((state) => showPane(state, "@2")),
  preset: committed((state) => applyPreset(state, 1, "even-vertical")),
  close: (arrangement) => arrangement.close(["@2"]),
  "close several": (arrangement) => arrangement.close(["@2", "@3"]),
  "the end of a program": (arrangement) => arrangement.remove("@3", { code: 1, signal: null }),
};

function committed(make: (state: Windows) => Windows) {
  return (arrangement: Arrangement): void => arrangement.commit(make(arrangement.state));
}

test.each(Object.entries(changes))("%s", (_, change) => {
  let failures = 0;
  for (let step = 0; ; step++) {
    const { arrangement, steps, facts } = made();
    const before = facts();
    steps.failAfter(step);
    let isFailed = false;
    try {
      change(arrangement);
    } catch {
      isFailed = true;
    }
    steps.failAfter(Number.POSITIVE_INFINITY);
    if (!isFailed) break;
    failures++;
    expect(facts()).toEqual(before);
    change(arrangement);
    expect(facts()).not.toEqual(before);
  }
  // At least each resized pane, the positions, and the report.
  expect(failures).toBeGreaterThan(2);
});

test("an interrupted swap: the incoming window has the place of the outgoing one if that has left, else its own", () => {
  const two = addWindow(oneWindow(1, paneEntry("@1")), 2, paneEntry("@2"), { focus: true, name: null, base: 0 });
  const incoming = { ...windowById(oneWindow(3, paneEntry("@3")), 3), replaces: 2 };
  const swapping = withWindow(
    two,
    { window: incoming, panes: [paneEntry("@3")] },
    { index: null, base: 0, makeRoom: false, focus: false },
  );
  const numbers = ({ windows }: Windows) => windows.map(({ id, index }) => [id, index]);
  const left = settleSwap(swapping, (pane) => pane !== "@2");
  expect([numbers(left), left.recent[0]]).toEqual([
    [
      [1, 0],
      [3, 1],
    ],
    3,
  ]);
  const stayed = settleSwap(swapping, () => true);
  expect(numbers(stayed)).toEqual([...numbers(two), [3, 2]]);
  expect(JSON.stringify([left, stayed])).not.toContain("replaces");
});

test("a pane learns what the newest terminal reported of itself, also if it is placed later", () => {
  const { arrangement } = made();
  const colors = (): (TerminalColors | null)[] =>
    [...arrangement.placedPanes.values()].map((pane) => (pane instanceof FakePane ? pane.colors : null));
  arrangement.placedPanes.learnColors({ kitty: false });
  arrangement.placedPanes.learnColors({ kitty: true });
  arrangement.placedPanes.set("@9", new FakePane("@9", new Steps()));
  expect(colors()).toEqual(Array(arrangement.placedPanes.size).fill({ kitty: true }));
});
