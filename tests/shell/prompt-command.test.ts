/** PROMPT_COMMAND belongs to the person: however it is assigned, its output is not a command's output. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { Http } from "../support/http.ts";
import { testWith } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const assignments = {
  "an array": "PROMPT_COMMAND=('echo PC1' 'echo PC2')",
  "unset and set again": "unset PROMPT_COMMAND; PROMPT_COMMAND='echo PC1'",
  "a declared array": "declare -ga PROMPT_COMMAND=([3]='echo PC1')",
  "a string": "PROMPT_COMMAND='echo PC1'",
  "an element more": "PROMPT_COMMAND+=('echo PC1')",
};

describe("PROMPT_COMMAND", () => {
  for (const [name, assignment] of Object.entries(assignments)) {
    testWith("bash")(`assigned at the prompt as ${name}`, async () => {
      await using wsh = new Wsh();
      await wsh.server();
      const http = new Http({ unix: wsh.instance.httpSocket });
      const api = await SessionApi.shell(http, "typed", { shell: "bash" });
      await api.type(`${assignment}; echo set\r`);
      const first = await until("its record", async () => {
        const record = (await api.commands())[0];
        return record?.state === "finished" && record;
      });
      // The record of a command that removed our hook marks its fields as unknown, unless they are right.
      const { text } = await api.output(`command_id=${first.id}`);
      if (text?.includes("PC1")) {
        expect(first.verified).toBe(false);
        expect(first.warnings?.join()).toContain("PROMPT_COMMAND");
      }
      for (const word of ["one", "two"]) {
        const result = await api.exec(`echo ${word}`);
        expect(result).toMatchObject({ output: word, exit_code: 0 });
        expect(result.verified).toBeUndefined();
        expect(result.warnings ?? []).toEqual([]);
      }
      expect((await http.screen("typed")).lines.join("\n")).toContain("PC1");
    });
  }

  testWith("bash")("assigned by the command itself: its result marks unknown fields", async () => {
    await using wsh = new Wsh();
    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    const api = await SessionApi.shell(http, "assigned", { shell: "bash" });
    const result = await api.exec("PROMPT_COMMAND=('echo PC1'); echo mine");
    expect(result).toMatchObject({ exit_code: 0, verified: false });
    expect(result.warnings?.join()).toContain("PROMPT_COMMAND");
    expect(await api.exec("unset PROMPT_COMMAND; echo none")).toMatchObject({ output: "none" });
    expect((await api.exec("echo after")).warnings ?? []).toEqual([]);
  });
});
