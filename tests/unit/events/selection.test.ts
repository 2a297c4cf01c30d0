/** What an AI agent learns by selecting events of a private session. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { EventJournal } from "../../../src/events/journal.ts";
import { readEvents } from "../../../src/events/selection.ts";

test("no filter tells the tags of a private session, whose name is found", async () => {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-events-"));
  try {
    const journal = new EventJournal(join(dir, "events"), (error) => {
      throw error;
    });
    const tags = ["takeover"];
    journal.append({ event: "session_created", at: 1, session: "safe", session_id: "@s1", tags });
    journal.append({ event: "session_created", at: 2, session: "open", session_id: "@s2", tags });
    journal.close();
    const concealment = { hidden: new Set(["@s1"]), ownSessions: new Set<string>() };
    const found = async (selected: { readonly tag?: string[]; readonly session?: string[] }, isAgent = true) => {
      const options = { type: [], session: [], tag: [], since: "start", wait_ms: 0, limit: 10, ...selected };
      const limits = isAgent ? { ...options, concealment } : options;
      const { events } = await readEvents(join(dir, "events"), limits, new AbortController().signal);
      return events.map(({ session }) => session);
    };
    expect(await found({ tag: tags })).toEqual(["open"]);
    expect(await found({ session: ["safe"] })).toEqual(["safe"]);
    expect(await found({ tag: tags }, false)).toEqual(["safe", "open"]);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
});
