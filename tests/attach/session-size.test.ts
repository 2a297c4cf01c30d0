/** The size of a session: decided by people who type, or by the API while nobody is attached; not by read-only viewers. */
import { describe, expect, test } from "bun:test";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

async function sizeOf(wsh: Wsh, name: string): Promise<string> {
  const sessions: { name: string; rows: number; cols: number }[] = JSON.parse(await wsh.ok("list", "--json"));
  const found = sessions.find((session) => session.name === name);
  return `${found?.cols}x${found?.rows}`;
}

describe("a terminal that is attached read-only", () => {
  test("does not decide the size of a session that has no other viewer", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    await wsh.ok("resize", "s", "100x30");
    await using reader = await EmulatorTerminal.attach(wsh, "s", { rows: 10, cols: 40, flags: ["--read-only"] });
    expect(await sizeOf(wsh, "s")).toBe("100x30");
    reader.resize(12, 50);
    await reader.sees(/100x30/);
    expect(await sizeOf(wsh, "s")).toBe("100x30");
    await wsh.ok("resize", "s", "110x31");
    expect(await sizeOf(wsh, "s")).toBe("110x31");
  });

  test("leaves the session the size of the person who was attached before", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    await using person = await EmulatorTerminal.attach(wsh, "s", { rows: 20, cols: 60 });
    await using reader = await EmulatorTerminal.attach(wsh, "s", { rows: 10, cols: 40, flags: ["--read-only"] });
    expect(await sizeOf(wsh, "s")).toBe("60x20");
    person.type("\x1c\x1c");
    await person.exited;
    reader.resize(12, 50);
    await wsh.exec("s", "true");
    expect(await sizeOf(wsh, "s")).toBe("60x20");
  });
});

test("a following terminal types like any other, and decides the size only while it is alone", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  const options = { rows: 10, cols: 40, flags: ["--follow"] };
  await using follower = await EmulatorTerminal.attach(wsh, "s", options);
  await until("its size, while it is alone", async () => (await sizeOf(wsh, "s")) === "40x10");
  {
    await using person = await EmulatorTerminal.attach(wsh, "s", { rows: 20, cols: 60 });
    await until("the person's size", async () => (await sizeOf(wsh, "s")) === "60x20");
    follower.type("echo typed\r");
    await person.sees(/^typed$/m);
    await follower.sees(/^typed$/m);
    follower.resize(12, 50);
    follower.type("echo again\r");
    await person.sees(/^again$/m);
    expect(await sizeOf(wsh, "s")).toBe("60x20");
    // The first split gives the session another process: the terminal's request applies there, too.
    await wsh.ok("split", "s");
    await person.sees("│");
    follower.resize(12, 44);
    follower.type("echo third\r");
    await person.sees(/^third +[│┃]/m);
    expect(await sizeOf(wsh, "s")).toBe("60x20");
  }
  await until("its size, alone again", async () => (await sizeOf(wsh, "s")) === "44x12");
});

describe("a terminal smaller than the session", () => {
  test("shows the session's size for a while, and again when it changes; then the program's last row is complete", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    await wsh.ok("resize", "s", "100x30");
    // Before the terminal attaches: the size is displayed from then on, and only for a while.
    await wsh.ok("send", "s", `printf '\\033[30;1H%s\\033[H' F1Help-${"x".repeat(60)}\n`);
    await wsh.shows("s", /^F1Help-x/m);
    const options = { rows: 30, cols: 40, flags: ["--read-only"], seen: "session 100x30" };
    await using reader = await EmulatorTerminal.attach(wsh, "s", options);
    const lastRow = (text: string): string => text.split("\n")[29] ?? "";
    await reader.sees((text) => lastRow(text).startsWith("F1Help-xxx") && lastRow(text).endsWith("session 100x30"));
    const whole = `F1Help-${"x".repeat(33)}`;
    await reader.sees((text) => lastRow(text) === whole);
    await wsh.ok("resize", "s", "110x30");
    await reader.sees((text) => lastRow(text).endsWith("session 110x30"));
    await reader.sees((text) => lastRow(text) === whole);
  });
});

describe("a size from the API", () => {
  test("is refused while a person is attached, and the error names the way out", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    await using _person = await EmulatorTerminal.attach(wsh, "s", { rows: 20, cols: 60 });
    const { code, stderr } = await wsh.run("resize", "s", "100x30");
    expect(code).not.toBe(0);
    expect(stderr).toContain("attached terminals decide the size of session 's' (60x20)");
    expect(stderr).toContain("force");
    expect(await sizeOf(wsh, "s")).toBe("60x20");
  });

  test("applies when forced, until the person types", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    await using person = await EmulatorTerminal.attach(wsh, "s", { rows: 20, cols: 60 });
    await wsh.ok("resize", "s", "100x30", "--force");
    expect(await sizeOf(wsh, "s")).toBe("100x30");
    person.type("x");
    await until("the person's size", async () => (await sizeOf(wsh, "s")) === "60x20");
  });

  test("is refused below two columns and one row", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    for (const size of ["1x24", "80x0"]) {
      const { code, stderr } = await wsh.run("resize", "s", size);
      expect(code).not.toBe(0);
      expect(stderr).toContain(`'${size}' is not a size`);
    }
  });
});
