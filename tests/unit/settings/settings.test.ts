import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { resolveInstance } from "../../../src/instance/paths.ts";
import {
  formatOrigin,
  type LoadedSettings,
  loadSettings,
  logLevelFor,
  nearSettings,
} from "../../../src/settings/settings.ts";
import { settingNames, settingOf } from "../../../src/settings/table.ts";
import { watchConfig } from "../../../src/settings/watch.ts";
import { testInstance } from "../../support/registry.ts";
import { until } from "../../support/until.ts";

type Flags = Parameters<typeof loadSettings>[1]["flags"];

/** The settings of an instance whose config.toml has this text. */
function load(
  toml: string | null,
  env: Record<string, string> = {},
  flags: Flags = {},
  tolerant = false,
): LoadedSettings {
  using place = testInstance();
  const path = place.instance.configFile;
  fs.mkdirSync(dirname(path), { recursive: true });
  if (toml !== null) fs.writeFileSync(path, toml);
  return loadSettings(place.instance, { env, flags, tolerant });
}

function failure(toml: string, env: Record<string, string> = {}, flags: Flags = {}): string {
  try {
    load(toml, env, flags);
  } catch (error) {
    expect(error).toMatchObject({ code: "invalid_setting" });
    return `${error instanceof Error ? error.message : error}`.replace(/\S*config\.toml/, "config.toml");
  }
  throw new Error("it was accepted");
}

describe("a setting's value", () => {
  test("is the default without another source, with or without a file", () => {
    for (const toml of [null, "", "# nothing\n"]) {
      const { values, originOf, warnings } = load(toml);
      expect(values).toMatchObject({
        pty: "bun",
        login_shell: true,
        shell_integration: true,
        scrollback_lines: 10_000,
        grace_seconds: 60,
        kill_grace_ms: 3_000,
        size_policy: "latest",
        prefix_key: "Ctrl+\\",
        bind: "127.0.0.1:8080",
        max_sessions: 256,
        max_clients: 64,
        max_tickets: 1_024,
        ws_ping_ms: 30_000,
        mcp_max_wait_ms: 30_000,
        audit: false,
      });
      expect(settingNames.filter((name) => originOf(name).from !== "default")).toEqual([]);
      expect(warnings).toEqual([]);
    }
  });

  test("comes from the flag, else the environment, else the file", () => {
    const toml = "# mine\npty = 'bun-pty'\nmax_sessions = 5\n\nmcp_max_wait_ms = 10\n";
    const { values, originOf } = load(toml, { WSH_PTY: "bun", WSH_MCP_MAX_WAIT_MS: "20" }, { mcp_max_wait_ms: "30" });
    expect([values.pty, values.max_sessions, values.mcp_max_wait_ms]).toEqual(["bun", 5, 30]);
    const origins = (["pty", "max_sessions", "mcp_max_wait_ms", "title"] as const).map((name) =>
      formatOrigin(originOf(name)).replace(/.*config/, "config"),
    );
    expect(origins).toEqual(["WSH_PTY", "config.toml:3", "flag", "default"]);
  });

  test("can be given in the words of the environment", () => {
    for (const word of ["0", "false", "off", "no"]) {
      expect(load(null, { WSH_SHELL_INTEGRATION: word }).values.shell_integration).toBe(false);
    }
    expect(load("", { WSH_SHELL_INTEGRATION: "1" }).values.shell_integration).toBe(true);
    expect(load("", { WSH_PTY: "" }).values.pty).toBe("bun");
    expect(load("", {}, { cors_origins: "https://a.org, http://b.org:81" }).values.cors_origins).toEqual([
      "https://a.org",
      "http://b.org:81",
    ]);
  });

  test("of the log level depends on the role until it is set", () => {
    expect(logLevelFor("client", load(""))).toBe("warn");
    expect(logLevelFor("server", load(""))).toBe("info");
    expect(logLevelFor("client", load("", { WSH_LOG: "debug" }))).toBe("debug");
  });
});

describe("an error in config.toml", () => {
  test("that is not TOML names its line", () => {
    expect(failure("title = 'on'\n\nclipboard = maybe\ngrace_seconds = 1\n")).toStartWith("config.toml:3:13: ");
    expect(failure("max_sessions = 1\nmax_sessions = 2\n")).toStartWith("config.toml:2:1: trying to redefine");
    expect(failure("title = 'on'\ncors_origins = [\n  'http://a.org',\n")).toStartWith(
      "config.toml:4:1: invalid value",
    );
    expect(failure("= 1")).toStartWith("config.toml:1:1: ");
  });

  test("in a key names the line and the probable key", () => {
    expect(failure("\ncolors = 'auto'\n")).toBe("config.toml:2: unknown setting 'colors'");
    expect(nearSettings("colors")).toEqual(["colours"]);
    expect(nearSettings("scrolback_lines")[0]).toBe("scrollback_lines");
    expect(nearSettings("max-sessions")).toEqual(["max_sessions"]);
    expect(nearSettings("")).toEqual([]);
    expect(nearSettings("entirely_different")).toEqual([]);
  });

  test("in a value names the valid ones", () => {
    expect(failure("\n\nmax_sessions = 0\n")).toBe(
      "config.toml:3: max_sessions is 0, expected an integer from 1 to 1000000",
    );
    expect(failure("pty = 'screen'")).toBe('config.toml:1: pty is "screen", expected one of bun, bun-pty');
    expect(failure("grace_seconds = 1.5")).toContain("expected an integer");
    expect(failure("audit = 'yes'")).toContain("expected true or false");
    expect(failure("cors_origins = ['*']")).toContain("expected origins such as");
    expect(failure("prefix_key = 'a b'")).toContain("expected a key such as");
  });

  test("in the environment or a flag names it", () => {
    expect(failure("", { WSH_LOG: "loud" })).toBe(
      'WSH_LOG: log_level is "loud", expected one of error, warn, info, debug',
    );
    expect(failure("", {}, { max_sessions: "many" })).toStartWith('the flag of max_sessions: max_sessions is "many"');
  });

  test("keeps the rest in force at a start; settings that open or disclose more are closed", () => {
    const { values, hooks, warnings, isWrong } = load(
      'accept = "al"\nnotify_text = 1\nmax_sessions = "x"\nscrolback = 1\npty = "bun-pty"\n[[on]]\nevent = "bell"\nrum = []\n[[on]]\nevent = "bell"\nrun = ["true"]\n',
      {},
      {},
      true,
    );
    expect(values).toMatchObject({
      accept: "none",
      notify_text: "none",
      max_sessions: load("").values.max_sessions,
      pty: "bun-pty",
    });
    expect([hooks.length, isWrong]).toEqual([1, true]);
    expect(warnings.map((each) => each.replace(/\S*config\.toml/, "config.toml"))).toEqual([
      "config.toml:4: unknown setting 'scrolback': it has no effect",
      "config.toml:2: notify_text is 1, expected one of full, none: none is used",
      'config.toml:1: accept is "al", expected one of none, named, placed: none is used',
      'config.toml:3: max_sessions is "x", expected an integer from 1 to 1000000: the default is used',
      "config.toml:8: [[on]] unknown field 'rum': it is ignored",
    ]);
  });

  test("in a file that is not TOML is unknown: what opens, discloses or deletes more is closed, unless given elsewhere", () => {
    const toml = 'history_days = 3650\naccept = "none"\nprefix_key = \n';
    const { values, warnings, isWrong } = load(toml, {}, {}, true);
    expect(isWrong).toBe(true);
    expect(warnings).toHaveLength(1);
    expect(values).toMatchObject({ accept: "none", notify_text: "none", scrollback_lines: 10_000 });
    expect(values).toMatchObject({ history_days: 36_500, checkpoint_days: 36_500 });
    expect(Math.min(values.history_bytes, values.checkpoint_bytes)).toBeGreaterThan(2 ** 35);
    expect(load(toml, { WSH_ACCEPT: "placed" }, {}, true).values.accept).toBe("placed");
    expect(load('history_days = "3650d"\n', {}, {}, true).values.history_days).toBe(36_500);
    expect(load(null, {}, {}, true).values).toMatchObject({ accept: "named", history_days: 90 });
  });

  test("of a table shows how it is written", () => {
    for (const [field, must] of [
      [
        "way = 'ntfy'\nurl = 'http://ntfy.sh/x'",
        'url is "http://ntfy.sh/x": it must be an https:// address, or an http:// address of this machine',
      ],
      [
        "way = 'webhook'\nurl = 'http://127.0.0.1:80/a b'",
        'url is "http://127.0.0.1:80/a b": it must be an https:// address, or an http:// address of this machine, without blanks',
      ],
      ["way = 'terminals'\nquiet = '25:00-07:00'", 'quiet is "25:00-07:00": it must have the form 22:00-07:30'],
    ])
      expect(failure(`[[notify]]\n${field}\n`)).toContain(`config.toml:3: [[notify]] ${must}`);
    expect(failure("[on]\nevent = 'bell'\n")).toBe("config.toml:1: on is [on], expected tables [[on]]");
    expect(failure("keys = 5\n")).toBe("config.toml:1: keys is 5, expected a table [keys]");
  });

  test("of position is reported: settings come before the first table", () => {
    expect(failure("[server]\nhostname = 'hub'\ngrace_seconds = 1\n")).toBe(
      "config.toml:3: grace_seconds is in the table [server]",
    );
  });
});

test("settings for several machines are allowed, and have no effect yet", () => {
  const toml = "default_token = 'x'\n[server]\nhostname = 'hub'\n[[servers]]\naddress = 'http://a'\n";
  const { values, warnings } = load(toml);
  expect(values.hostname).toBe("hub");
  expect(warnings.map((text) => text.replace(/.*config/, "config"))).toEqual([
    "config.toml:1: default_token has no effect: federation is not implemented",
    "config.toml:4: servers has no effect: federation is not implemented",
  ]);
});

test("a named file must exist, and be a file of reasonable size", () => {
  using place = testInstance();
  const config = join(place.dir, "mine.toml");
  const named = resolveInstance({ flags: { config }, env: place.env });
  expect(() => loadSettings(named, { env: {} })).toThrow("mine.toml cannot be read");
  fs.mkdirSync(config);
  expect(() => loadSettings(named, { env: {} })).toThrow("mine.toml cannot be read");
  fs.rmdirSync(config);
  fs.writeFileSync(config, "#".repeat(300_000));
  expect(() => loadSettings(named, { env: {} })).toThrow("300000 bytes");
  fs.writeFileSync(config, "max_sessions = 7");
  expect(loadSettings(named, { env: {} }).values.max_sessions).toBe(7);
  // Reading one waits for its writer.
  fs.rmSync(config);
  Bun.spawnSync(["mkfifo", config]);
  expect(() => loadSettings(named, { env: {} })).toThrow("mine.toml cannot be read: it is not a regular file");
  const none = resolveInstance({ flags: { config: "/dev/null" }, env: place.env });
  expect(loadSettings(none, { env: {} }).values.max_sessions).toBeGreaterThan(7);
});

test("a link is followed to its present file, also beside it", async () => {
  using place = testInstance();
  const [config, one, two] = ["config.toml", "one.toml", "two.toml"].map((name) => join(place.dir, name)) as [
    string,
    string,
    string,
  ];
  fs.writeFileSync(one, "1");
  fs.writeFileSync(two, "22");
  fs.symlinkSync(one, config);
  let seen = "";
  using _watch = watchConfig(config, () => {
    seen = fs.readFileSync(config, "utf8");
  });
  fs.writeFileSync(one, "111");
  await until("its change", () => seen === "111");
  fs.symlinkSync(two, `${config}.new`);
  fs.renameSync(`${config}.new`, config);
  await until("the other file", () => seen === "22");
  fs.writeFileSync(two, "2222");
  await until("the other's change", () => seen === "2222");
  const lead = (link: string, to: string): void => {
    fs.symlinkSync(to, `${link}.new`);
    fs.renameSync(`${link}.new`, link);
  };
  const middle = join(place.dir, "middle");
  lead(middle, "one.toml");
  lead(config, middle);
  await until("the file behind two links", () => seen === "111");
  lead(middle, "two.toml");
  await until("the link between", () => seen === "2222");
});

test("every setting has a sentence, an expectation, and a valid default", () => {
  for (const name of settingNames) {
    const facts = settingOf(name);
    expect(facts.doc).toMatch(/^[A-Z].*\.$/);
    expect(facts.expected).not.toBe("");
    expect(load(`${name} = ${JSON.stringify(facts.default)}\n`).originOf(name).from).toBe("file");
  }
  const variables = settingNames.flatMap((name) => settingOf(name).env ?? []);
  expect(new Set(variables).size).toBe(variables.length);
});

describe("segments of the status line", () => {
  test("are names and tables, in a list or as tables of their own", () => {
    const listed = load(`status_segments = [
      "session",
      "gap",
      { segment = "windows", marks = { bell = "B", last = { sign = "-", style = "dim" } } },
      "gap",
      { command = ["uptime", "-p"], seconds = 60, width = 30, style = "bold #ffffff on 21" },
    ]`).values.status_segments;
    expect(listed).toHaveLength(5);
    expect(listed[4]).toMatchObject({ command: ["uptime", "-p"], seconds: 60 });
    expect(load(`[[status_segments]]\nsegment = "time"\nformat = "%T"\n`).values.status_segments).toEqual([
      { segment: "time", format: "%T" },
    ]);
  });

  test("are refused with the line and the entry that is wrong", () => {
    const wrong = (entry: string): string =>
      failure(
        `status = "on"\nstatus_segments = [\n  "session", # ], "\n  { text = "], {session}" },\n  ${entry},\n]\n`,
      );
    const at = "config.toml:5: status_segments, entry 3: ";
    const cases: readonly (readonly [string, string])[] = [
      [`"sesion"`, `"sesion", expected one of session, windows, gap,`],
      ["3", "3, expected one of session, windows,"],
      [`{ segment = "clock" }`, `segment is "clock", expected one of session, windows,`],
      [`{ text = "a", style = "redd" }`, `style is "redd", expected attributes and colours such as`],
      [`{ text = "{sesion}" }`, `text is "{sesion}", expected names in braces out of session, host,`],
      [`{ text = "a } b" }`, `text is "a } b", expected names in braces`],
      [`{ style = "red" }`, "needs exactly one of segment, text, command, shell"],
      [`{ text = "a", shell = "b" }`, "needs exactly one of"],
      [`{ command = [] }`, "command is [], expected at least 1"],
      [`{ command = "uptime" }`, `command is "uptime", expected a list`],
      [`{ command = ["a\\u0000b"] }`, `command.0 is "a\\u0000b", expected text without NUL`],
      [`{ command = ["a"], seconds = 0 }`, "seconds is 0, expected at least 1"],
      [`{ command = ["a"], timeout_seconds = 61 }`, "timeout_seconds is 61, expected at most 60"],
      [`{ text = "a", seconds = 5 }`, "only a segment with command or shell has seconds"],
      [`{ segment = "host", format = "%H" }`, "only the segment time has format"],
      [`{ text = "a", marks = { bell = "!" } }`, "only the segment windows has marks"],
      [`{ segment = "windows", marks = { bel = "!" } }`, "unknown field 'marks.bel'"],
      [
        `{ segment = "windows", marks = { bell = { style = "blinking" } } }`,
        `marks.bell.style is "blinking", expected attr`,
      ],
      [`{ segment = "windows", marks = { bell = 1 } }`, "marks.bell is 1, expected text"],
      [`{ segment = "time", colour = "red" }`, "unknown field 'colour'"],
      [`{ segment = "time", width = 501 }`, "width is 501, expected at most 500"],
    ];
    for (const [entry, text] of cases) expect(wrong(entry)).toStartWith(`${at}${text}`);
    expect(failure(`status_segments = ["gap", "gap",\n"time", "gap"]`)).toBe(
      "config.toml:2: status_segments, entry 4: a line has at most 2 gaps: left, middle and right",
    );
    expect(
      failure(`[[status_segments]]\nsegment = "time"\n\n[[status_segments]]\ntext = "a"\nstyle = "reddish"`),
    ).toStartWith('config.toml:6: status_segments, entry 2: style is "reddish"');
    expect(failure(`status_segments = "time"`)).toStartWith(
      'config.toml:1: status_segments is "time", expected a list',
    );
    expect(failure(`status_segments = [${"'time',".repeat(33)}]`)).toContain("expected a list of at most 32");
  });
});
