/** The link to a running ssh agent leads to the newest socket that is there and belongs to its user. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { agentLink, linkAgent } from "../../../src/instance/agent-link.ts";
import { testInstance } from "../../support/registry.ts";

test("the newest that is there; never a file, nor another user's socket", () => {
  using place = testInstance();
  const { instance, dir } = place;
  const listeners: Disposable[] = [];
  const agent = (name: string): string => {
    const unix = join(dir, name);
    listeners.push(Bun.listen({ unix, socket: { data() {} } }));
    return unix;
  };
  try {
    const [first, second, foreign] = [agent("first"), agent("second"), agent("foreign")];
    const linked = (brought: string | null): string => {
      linkAgent(instance, brought);
      return fs.readlinkSync(agentLink(instance));
    };
    expect(linked(first)).toBe(first);
    expect(linked(second)).toBe(second);
    const file = join(dir, "file");
    fs.writeFileSync(file, "");
    expect(linked(file)).toBe(second);
    if (process.getuid?.() === 0) {
      fs.chownSync(foreign, 65_534, 65_534);
      expect(linked(foreign)).toBe(second);
    }
    fs.rmSync(second);
    expect(linked(null)).toBe(first);
  } finally {
    for (const each of listeners) each[Symbol.dispose]();
  }
});
