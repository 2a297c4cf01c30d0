/** The page's events: which machines it asks for them. */
import { expect, test } from "bun:test";
import type { SessionInfo } from "../../../src/protocol/session.ts";
import { Refusal } from "../../../src/web/connection/server.ts";
import { EventFeed } from "../../../src/web/page/event-feed.ts";
import { sessions } from "../../../src/web/page/sessions.ts";
import { until } from "../../support/until.ts";

const listed = (...ids: string[]): void => {
  sessions.value = ids.map((id) => ({ id }) as SessionInfo);
};

test("a machine that was forgotten is asked no more, until it is listed again; one that is away is", async () => {
  const asked: unknown[] = [];
  let isKnown = true;
  const control = {
    call: (_method: string, { server, since }: { server?: string; since?: string }): Promise<never> => {
      asked.push(server);
      if (isKnown && since === "now") return Promise.resolve({ events: [], cursor: "1-0" } as never);
      // The server's answer for a machine that it does not know, and for one that is away.
      return Promise.reject(new Refusal(404, isKnown ? "machine_unreachable" : "machine_not_found", "no", ""));
    },
  };
  const countOf = (server: string | undefined): number => asked.filter((each) => each === server).length;
  new EventFeed(control as never, () => {}, 1);
  listed("@s1", "m1/@s1");
  await until("it is asked again", () => countOf("m1") > 3);
  isKnown = false;
  listed("@s1");
  const local = countOf(undefined);
  await until("this machine is asked", () => countOf(undefined) > local + 3);
  const before = countOf("m1");
  const then = countOf(undefined);
  await until("this machine is asked again", () => countOf(undefined) > then + 20);
  expect(countOf("m1")).toBe(before);
  isKnown = true;
  listed("@s1", "m1/@s2");
  await until("it is asked once more", () => countOf("m1") > before + 3);
  listed();
});
