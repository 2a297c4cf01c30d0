/** A model's filters for a command's output: matches with context, head, tail, nothing; for all steps and for each. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { call, McpInstance } from "../support/mcp-instance.ts";

const mcp = new McpInstance();
let client: Client;
beforeAll(async () => {
  client = await mcp.client();
});
afterAll(() => mcp[Symbol.asyncDispose]());

const isFull = process.env.WSH_TEST_FULL === "1";

/** 30,000 lines, more than memory keeps of a command, with one match. */
const MANY = "seq -f 'line %.0f of many, which say little' 1 30000 | sed '12345s/.*/the needle é/'";

async function exec(args: Record<string, unknown>) {
  const answer = await call(client, "wsh_exec", args);
  if (answer.isError) throw new Error(`${JSON.stringify(args)}: ${answer.texts[0]}`);
  return answer.value;
}

for (const [where, place] of [
  ["in a session of its own", {}],
  ["at a prompt", { session: "filtered", create: true }],
] as const) {
  describe(`output ${where}`, () => {
    test("filtered by matches, with their numbers and the lines around", async () => {
      const found = await exec({ ...place, command: MANY, grep: "needle", context: 1 });
      expect(found).toMatchObject({ exit_code: 0, matches: 1, total_lines: 30_000 });
      expect(found.output).toBe(
        "12344-line 12344 of many, which say little\n12345:the needle é\n12346-line 12346 of many, which say little",
      );
      expect(await exec({ ...place, command: "seq 100", grep: "nowhere" })).toMatchObject({
        output: "",
        matches: 0,
        total_lines: 100,
      });
      const pattern = await exec({
        ...place,
        command: "printf 'ab\\nAB\\nb\\n'; exit_code() { return 3; }; exit_code",
        grep: "(?i)^ab$",
      });
      expect(pattern).toMatchObject({ output: "1:ab\n2:AB", exit_code: 3, matches: 2, total_lines: 3 });
    });

    test("that was overwritten, and a match in the middle of a long line", async () => {
      const steps = "printf '[1] step\\rnote: cached\\r[2] step of two\\ndone\\n'";
      const found = await exec({ ...place, command: steps, grep: "note" });
      expect(found).toMatchObject({ output: "1:note: cached", matches: 1, total_lines: 2 });
      const { session, command_id, output_cursor } = found;
      const again = await call(client, "wsh_get_output", { session, command_id, grep: "^note" });
      expect(again.value.text).toBe("1:note: cached");
      const any_of = [{ type: "regex", pattern: "note: (\\w+)" }];
      const waited = await call(client, "wsh_wait", { session, since: output_cursor - 200, any_of, max_wait_ms: 0 });
      if (session === "filtered") expect(waited.value).toMatchObject({ decided_by: "regex", groups: ["cached"] });
      const long = "printf '%030000dNEEDLE%030000d\\n' 0 0";
      const { output } = await exec({ ...place, command: long, grep: "NEED" });
      expect(output).toMatch(/^1:\[… 29850 characters\] 0{150}NEEDLE0{244} \[29756 characters …\]$/);
    });

    // At a prompt a shorter one is, among steps, and a larger one without being asked for.
    test.skipIf(where === "at a prompt" && !isFull)("cut to both ends, and the middle later", async () => {
      const ends = await exec({ ...place, command: MANY, head: 1, tail: 2 });
      expect(ends.output.split("\n")).toEqual([
        "line 1 of many, which say little",
        "[29997 lines omitted]",
        "line 29999 of many, which say little",
        "line 30000 of many, which say little",
      ]);
      expect(ends).toMatchObject({ total_lines: 30_000, exit_code: 0 });
      const { session, command_id } = ends;
      const middle = await call(client, "wsh_get_output", { session, command_id, range: "15000-15001" });
      expect(middle.value.text).toBe("line 15000 of many, which say little\nline 15001 of many, which say little");
    });

    test("larger than a result holds", async () => {
      const cut = await exec({ ...place, command: MANY });
      expect(Buffer.byteLength(cut.output)).toBeLessThan(4_200);
      expect(cut.output).toStartWith("line 1 of many");
      expect(cut.output).toEndWith("line 30000 of many, which say little");
      expect(cut.omitted_lines).toBeGreaterThan(29_000);
      const { session, command_id } = cut;
      const found = await call(client, "wsh_get_output", { session, command_id, grep: "needle" });
      expect(found.value).toMatchObject({ text: "12345:the needle é", matches: 1 });
      expect((await exec({ ...place, command: "seq 1 3000", output_limit: 100_000 })).output).toEndWith("2999\n3000");
    });

    test("shown on failure only, or not at all", async () => {
      expect(await exec({ ...place, command: "seq 3", output: "on_failure" })).toMatchObject({
        output: "",
        total_lines: 3,
      });
      expect(await exec({ ...place, command: "seq 3; (exit 4)", output: "on_failure" })).toMatchObject({
        output: "1\n2\n3",
        exit_code: 4,
      });
      expect(await exec({ ...place, command: "seq 3; (exit 4)", output: "none" })).toMatchObject({
        output: "",
        exit_code: 4,
        total_lines: 3,
      });
    });

    test("of steps, each by its own filter, else by the common one", async () => {
      const { steps } = await exec({
        ...place,
        tail: 1,
        stop_on_error: false,
        steps: [
          { command: "seq 5", name: "as all" },
          { command: "seq 5", grep: "[24]" },
          { command: "seq 5", head: 2, tail: 1 },
          { command: "seq 5", output: "none" },
          { command: "seq 5; (exit 6)", output: "on_failure", tail: 2 },
        ],
      });
      expect(steps.map(({ output }: { output: string }) => output)).toEqual([
        "5",
        "4:4",
        "1\n2\n[2 lines omitted]\n5",
        "",
        "4\n5",
      ]);
      expect(steps[0]).toMatchObject({ name: "as all", exit_code: 0, total_lines: 5 });
      expect(steps[4]).toMatchObject({ exit_code: 6 });
    });

    test("is refused before anything runs when the filter is invalid", async () => {
      const file = `${mcp.dir}/ran`;
      for (const [filter, description] of [
        [{ grep: "(" }, "cannot be used"],
        [{ grep: "a(?=b)" }, "cannot be used"],
        [{ context: 1 }, "'context'"],
        [{ tail: 0 }, "tail"],
        [{ output: "some" }, "output"],
      ] as const) {
        const { isError, value } = await call(client, "wsh_exec", { ...place, command: `touch '${file}'`, ...filter });
        expect({ isError, code: value.code }).toEqual({ isError: true, code: "invalid_request" });
        expect(value.message).toContain(description);
      }
      expect(await Bun.file(file).exists()).toBe(false);
    });
  });
}
