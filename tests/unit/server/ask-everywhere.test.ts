/** Which session a question without one goes to. */
import { expect, test } from "bun:test";
import { askEverywhere } from "../../../src/server/operations/any-machine.ts";

type Given = Parameters<typeof askEverywhere>;

/** A machine with a session that nobody is attached to, and from which notices of questions reach a person. */
function machine() {
  const asked: string[] = [];
  const proxy = {
    info: {},
    async request(operation: string) {
      asked.push(operation);
      if (operation === "ask.person") return { people: 0, acted_ms: null, noticed: true };
      return { session: "dev", state: "answered", decided_by: "answered", answered_by: "notice", answer: "yes" };
    },
  };
  const proxies = { list: async () => [{ id: "@1", running: true, attached: 0 }], find: async () => proxy };
  const ask = (more: object) =>
    askEverywhere(
      proxies as unknown as Given[0],
      { machines: { addedMachines: [] } } as unknown as Given[1],
      { question: "Now?", kind: "text", multiple: false, timeout_ms: 1, max_wait_ms: 1, wait_for_person: false },
      { caller: {}, access: "admin", signal: new AbortController().signal, ...more } as unknown as Given[3],
    );
  return { ask, asked };
}

test("goes by a notice where nobody is attached, and not by one of a machine that another one asks for a person", async () => {
  const { ask, asked } = machine();
  expect(await ask({})).toMatchObject({ session: "dev", answered_by: "notice" });
  expect(asked).toEqual(["ask.person", "ask"]);
  expect(await ask({ fromMachine: true })).toMatchObject({ state: "closed", decided_by: "nobody_attached" });
  expect(asked.filter((operation) => operation === "ask")).toHaveLength(1);
});
