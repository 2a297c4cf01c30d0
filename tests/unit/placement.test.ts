/** The machines that are asked to start a session, and their order. */
import { expect, test } from "bun:test";
import { type Candidate, orderOf, placementOrder } from "../../src/cluster/placement.ts";

function machine(name: string, over: Partial<Candidate> = {}): Candidate {
  return { name, health: "healthy", tags: ["gpu"], accept: "placed", load: 0, sessions: 0, ...over };
}

test("only reachable machines that accept placed sessions and have every tag", () => {
  const machines = [
    machine("good", { tags: ["gpu", "big"] }),
    machine("stale", { health: "stale", tags: ["gpu", "big"] }),
    machine("named", { accept: "named", tags: ["gpu", "big"] }),
    machine("none", { accept: "none", tags: ["gpu", "big"] }),
    machine("small"),
  ];
  expect(placementOrder(machines, ["gpu", "big"], Math.random)).toEqual(["good"]);
  expect(placementOrder(machines, ["cpu"], Math.random)).toEqual([]);
  expect(placementOrder(machines, [], Math.random).toSorted()).toEqual(["good", "small"]);
});

test("of the first two the less loaded is asked first, then the other, then the rest", () => {
  const machines = [machine("a", { load: 3 }), machine("b", { load: 1 }), machine("c", { load: 1, sessions: 4 })];
  const orders = Array.from({ length: 200 }, () => placementOrder(machines, [], Math.random).join(""));
  expect([...new Set(orders)].toSorted()).toEqual(["bac", "bca", "cab"]);
});

test("many sessions are spread over machines with equal reports", () => {
  const machines = Array.from({ length: 10 }, (_, at) => machine(`m${at}`));
  const counts = new Map<string, number>();
  for (let at = 0; at < 2_000; at++) {
    const [first = ""] = placementOrder(machines, [], Math.random);
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  expect(counts.size).toBe(10);
  expect(Math.max(...counts.values())).toBeLessThan(400);
});

test("a large fleet that refuses is not asked completely", () => {
  const machines = Array.from({ length: 100 }, (_, at) => machine(`m${at}`));
  const order = placementOrder(machines, [], Math.random);
  expect(order.length).toBe(8);
  expect(new Set(order).size).toBe(8);
});

test("a request with an id is sent to the same machines in the same order, whatever their load", () => {
  const machines = Array.from({ length: 20 }, (_, at) => machine(`m${at}`));
  const busy = machines.map((each, at) => ({ ...each, load: at % 3 })).toReversed();
  expect(orderOf(busy, [], "r1")).toEqual(orderOf(machines, [], "r1"));
  expect(orderOf(machines, [], "r1")).not.toEqual(orderOf(machines, [], "r2"));
  expect(orderOf(machines, ["cpu"], "r1")).toEqual([]);
});
