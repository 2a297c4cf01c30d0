/** Waits after the screen was cleared: lines start again at the top, and earlier input there does not count. */
import { expect, test } from "bun:test";
import { Http } from "../support/http.ts";
import { Wsh } from "../support/wsh.ts";

test.each(["the operation", "the program"])(
  "what is printed where something was typed before is seen (cleared by %s)",
  async (by) => {
    await using wsh = new Wsh();
    await wsh.server();
    await wsh.session("dev");
    const http = new Http({ unix: wsh.instance.httpSocket });
    const ask = async (path: string, body: object) =>
      (await http.post(`/sessions/dev/${path}`, body)).body as Record<string, unknown>;
    await ask("exec", { command: "MARK=seen" });
    for (let round = 0; round < 4; round++) {
      await ask("exec", { command: `echo ${"x\\n".repeat(round)}` });
      await ask("run", { input: "echo run $MARK", submit: true });
      const { output_cursor: since } = (await http.get("/sessions/dev/status")).body as { output_cursor: number };
      await http.post("/sessions/dev/keys", { data: "echo is $MARK", submit: true });
      const waited = await ask("wait", { any_of: [{ type: "text", text: "is seen" }], since, max_wait_ms: 10_000 });
      expect([round, waited.decided_by]).toEqual([round, "text"]);
      if (by === "the operation") await ask("clear", {});
      else await ask("exec", { command: "clear" });
    }
  },
);
