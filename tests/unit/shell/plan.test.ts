import { describe, expect, test } from "bun:test";
import { childEnvironment, type SessionIdentity } from "../../../src/shell/environment.ts";
import { integrationFiles, portableScript } from "../../../src/shell/integration.ts";
import { planShell, type ShellFacts, type ShellPlan, type ShellRequest } from "../../../src/shell/plan.ts";
import { testWith } from "../../support/programs.ts";
import { ShellTerminal } from "../../support/terminals/shell-terminal.ts";

const paths: Readonly<Record<string, string>> = {
  bash: "/usr/bin/bash",
  "/bin/bash": "/bin/bash",
  zsh: "/usr/bin/zsh",
  "/usr/bin/zsh": "/usr/bin/zsh",
  fish: "/usr/bin/fish",
  sh: "/bin/sh",
  "/bin/sh": "/bin/sh",
  pwsh: "/opt/pwsh",
  "/opt/elvish": "/opt/elvish",
  "/usr/local/bin/bash-5.2": "/usr/local/bin/bash-5.2",
};

function facts(env: Record<string, string> = { SHELL: "/bin/bash" }): ShellFacts {
  return {
    env,
    bashVersion: () => ({ major: 5, minor: 2 }),
    keyFile: "/run/key",
    accountShell: null,
    scriptsDir: "/run/it's",
    findExecutable: (name) => paths[name] ?? null,
  };
}

function plan(request: Partial<ShellRequest>, known = facts()): ShellPlan {
  const result = planShell({ loginShell: true, integration: true, ...request }, known);
  if (!result.ok) throw result.error;
  return result;
}

describe("a session without a command", () => {
  test("is $SHELL as a login shell, as in tmux", () => {
    expect(plan({}, facts({ SHELL: "/usr/bin/zsh" }))).toEqual({
      ok: true,
      file: "/usr/bin/zsh",
      args: [],
      argv0: "-zsh",
      set: { WSH_SHELL_KEY: "/run/key", ZDOTDIR: "/run/it's/zsh" },
      unset: [],
      kind: "zsh",
      login: true,
      integration: { active: true },
      displayCommand: "/usr/bin/zsh",
    });
  });

  test("is an interactive shell when login_shell is off", () => {
    const { file, args, argv0, set } = plan({ loginShell: false });
    expect({ file, args, argv0, set }).toEqual({
      file: "/bin/bash",
      args: ["--rcfile", "/run/it's/wsh.bash"],
      argv0: undefined,
      set: { WSH_SHELL_KEY: "/run/key", WSH_SHELL_INJECT: "interactive" },
    });
  });

  test("keeps ZDOTDIR, ENV, HISTFILE and MAILCHECK of the person for their shell", () => {
    expect(plan({ shell: "zsh" }, facts({ ZDOTDIR: "/z" })).set.WSH_SHELL_ZDOTDIR).toBe("/z");
    expect(plan({ shell: "bash" }).set).toMatchObject({
      WSH_SHELL_INJECT: "login histfile mailcheck",
      ENV: "/run/it's/wsh.bash",
    });
    const inherited = plan({ shell: "bash" }, facts({ ENV: "/e", HISTFILE: "/h", MAILCHECK: "1" }));
    expect(inherited.set).toMatchObject({ WSH_SHELL_INJECT: "login", WSH_SHELL_ENV: "/e" });
  });

  test("is the account's shell when SHELL is not set, else /bin/sh", () => {
    const known = { ...facts({}), accountShell: "/usr/bin/zsh" };
    expect(plan({}, known)).toMatchObject({ file: "/usr/bin/zsh", argv0: "-zsh", kind: "zsh" });
    expect(plan({ command: "make" }, known).file).toBe("/usr/bin/zsh");
    expect(plan({}, facts({}))).toMatchObject({ file: "/bin/sh", argv0: "-sh", args: [], set: {}, kind: "other" });
  });
});

describe("a requested shell", () => {
  test("by name in any case, or by path", () => {
    expect(plan({ shell: "BASH" }).file).toBe("/usr/bin/bash");
    expect(plan({ shell: "/usr/local/bin/bash-5.2" })).toMatchObject({ kind: "bash", integration: { active: true } });
    expect(plan({ shell: "fish" }).args).toEqual(["--init-command", "source '/run/it\\'s/wsh.fish'"]);
    expect(plan({ shell: "pwsh" })).toMatchObject({ args: ["-Login"], kind: "other", integration: { active: false } });
    expect(plan({ shell: "/opt/elvish" })).toMatchObject({ argv0: "-elvish", integration: { active: false } });
  });

  test("that is unknown or missing is a typed failure", () => {
    const unknown = planShell({ shell: "nush", loginShell: true, integration: true }, facts());
    expect(unknown).toMatchObject({
      ok: false,
      error: { code: "unknown_shell", details: { supported: ["bash", "zsh", "fish", "sh", "pwsh"] } },
    });
    for (const shell of ["/no/such", "/no/bash"]) {
      const missing = planShell({ shell, loginShell: true, integration: true }, facts());
      expect(missing).toMatchObject({ ok: false, error: { code: "shell_not_found" } });
    }
    const nowhere = planShell(
      { shell: "zsh", loginShell: true, integration: true },
      { ...facts(), findExecutable: () => null },
    );
    expect(nowhere).toMatchObject({ ok: false, error: { code: "shell_not_found" } });
  });

  test("that is wrong in $SHELL is named with its error, for any command", () => {
    for (const request of [{}, { command: "make all" }]) {
      const wrong = planShell({ ...request, loginShell: true, integration: true }, facts({ SHELL: "/no/such" }));
      expect(wrong).toMatchObject({
        ok: false,
        error: { code: "shell_not_found", message: expect.stringMatching(/\$SHELL.*\/no\/such/) },
      });
    }
  });
});

describe("a command", () => {
  test("that is only a shell is the session's shell", () => {
    expect(plan({ command: "zsh" })).toMatchObject({
      file: "/usr/bin/zsh",
      login: true,
      displayCommand: "/usr/bin/zsh",
    });
    expect(plan({ command: " bash -i " })).toMatchObject({ login: false, args: ["--rcfile", "/run/it's/wsh.bash"] });
    expect(plan({ command: "/usr/bin/zsh -l", loginShell: false })).toMatchObject({ login: true, argv0: "-zsh" });
    expect(plan({ command: "bash -l -i", loginShell: false }).login).toBe(true);
    expect(plan({ command: "bash --login", loginShell: false }).login).toBe(true);
    expect(plan({ command: "zsh", loginShell: false }).login).toBe(false);
  });

  test("of any other kind runs as $SHELL -c, without rc files or job control", () => {
    for (const command of ["make test", "bash -c ls", "bash script.sh", "echo bash", "zsh -f", "bash; ls", "vim"]) {
      expect(plan({ command })).toEqual({
        ok: true,
        file: "/bin/bash",
        args: ["-c", command],
        set: {},
        unset: [],
        kind: "bash",
        login: false,
        integration: {
          active: false,
          reason:
            "it was created with a command, which wsh does not integrate; create it with 'shell' to get an integrated shell",
        },
        displayCommand: command,
      });
    }
    expect(plan({ command: "make", shell: "zsh" })).toMatchObject({ file: "/usr/bin/zsh", args: ["-c", "make"] });
  });
});

test("integration stays out, with a reason, where it could break the shell or is not wanted", () => {
  const reason = (request: Partial<ShellRequest>, known = facts()) => {
    const { integration, args } = plan(request, known);
    expect(args).toEqual([]);
    return integration.active ? null : integration.reason;
  };
  expect(reason({ integration: false })).toContain("shell_integration");
  const bash = (major: number, minor: number) => ({ ...facts(), bashVersion: () => ({ major, minor }) });
  expect(reason({}, bash(3, 2))).toBe("bash 3.2 is older than 4.4");
  expect(reason({}, bash(4, 3))).toBe("bash 4.3 is older than 4.4");
  expect(plan({}, bash(4, 4)).integration.active).toBe(true);
  expect(plan({}, { ...facts(), bashVersion: () => null }).integration.active).toBe(true);
  expect(reason({ shell: "bash" }, facts({ POSIXLY_CORRECT: "" }))).toContain("posix");
  expect(reason({ shell: "sh" })).toBe("sh has no integration");
});

describe("the environment of a session's program", () => {
  const identity: SessionIdentity = {
    session: "dev",
    pane: "@7",
    instance: "default",
    socket: "/s",
    version: "1.2.3",
    executable: null,
    term: "xterm-256color",
    refreshed: "/r",
    agent: null,
    tmux: null,
    overrides: {},
  };

  test("contains its location, and nothing of the caller's terminal or of wsh itself", () => {
    const caller = {
      HOME: "/home/u",
      LANG: "C",
      TERM: "screen",
      TMUX: "x",
      TMUX_PANE: "%1",
      STY: "y",
      LINES: "1",
      COLUMNS: "2",
      WSH_TOKEN: "secret",
      WSH_SHELL_KEY: "other",
      WSH_SESSION: "outer",
      WSH_AGENT: "the caller",
      TERM_SESSION_ID: "z",
      BUN_OPTIONS: "--x",
      KITTY_WINDOW_ID: "1",
      UNSET: undefined,
    };
    expect(childEnvironment(caller, identity)).toEqual({
      HOME: "/home/u",
      LANG: "C",
      TERM: "xterm-256color",
      COLORTERM: "truecolor",
      TERM_PROGRAM: "wsh",
      TERM_PROGRAM_VERSION: "1.2.3",
      WSH_SESSION: "dev",
      WSH_PANE: "@7",
      WSH_SERVER_NAME: "default",
      WSH_SOCKET: "/s",
      WSH_ENVIRONMENT: "/r",
    });
  });

  test("names the agent that owns the pane, and no other", () => {
    const caller = { WSH_AGENT: "the caller" };
    const overrides = { WSH_AGENT: "override" };
    expect(childEnvironment(caller, { ...identity, agent: "claude", overrides }).WSH_AGENT).toBe("claude");
    expect(childEnvironment(caller, { ...identity, overrides })).not.toHaveProperty("WSH_AGENT");
  });

  test("mentions tmux where the session answers like it", () => {
    const tmux = { at: "/r/7.tmux/tmux-0/default,9,3", directory: "/r/7.tmux", bin: "/bin-tmux" };
    const caller = { PATH: "/bin-tmux:/bin", TMUX: "other", TMUX_TMPDIR: "/tmp", WSH_TMUX_BIN: "/old" };
    expect(childEnvironment(caller, { ...identity, tmux })).toMatchObject({
      TMUX: tmux.at,
      TMUX_PANE: "%7",
      TMUX_TMPDIR: tmux.directory,
      PATH: "/bin:/bin-tmux",
      WSH_TMUX_BIN: "/bin-tmux",
      WSH_TMUX: "on",
    });
    expect(childEnvironment(caller, identity)).not.toHaveProperty("WSH_TMUX_BIN");
  });

  test("accepts overrides, except for wsh's own names", () => {
    const env = childEnvironment(
      { A: "1" },
      { ...identity, overrides: { A: "2", TERM: "dumb", WSH_SESSION: "x", EMPTY: "" } },
    );
    expect(env).toMatchObject({ A: "2", TERM: "dumb", WSH_SESSION: "dev", EMPTY: "" });
  });

  test("refuses names and values that no environment can contain", () => {
    for (const overrides of [{ "": "x" }, { "A=B": "x" }, { "A\0": "x" }, { A: "x\0y" }]) {
      expect(() => childEnvironment({}, { ...identity, overrides })).toThrow("cannot be set");
    }
  });
});

describe("the portable script", () => {
  test("equals the session's files", () => {
    expect(integrationFiles().map((file) => file.name)).toEqual(["wsh.bash", "wsh.fish", "wsh.zsh", "zsh/.zshenv"]);
    expect(portableScript("zsh")).toContain("133;C");
  });

  for (const [shell, rc] of [
    ["bash", ".bashrc"],
    ["zsh", ".zshrc"],
    ["fish", ".config/fish/config.fish"],
  ] as const) {
    testWith(shell)(`at the end of ${rc} marks commands, unverified`, async () => {
      await using terminal = ShellTerminal.start(shell, { integration: false, files: { [rc]: portableScript(shell) } });
      await terminal.prompt();
      const { exit, marks } = await terminal.run("sh -c 'exit 3'");
      expect(exit).toBe("3");
      expect(marks.some((mark) => mark.verified)).toBe(false);
      expect(terminal.output).not.toContain("wsh=");
    });

    testWith(shell)(`sourced in a session of ${shell} with marks already changes nothing`, async () => {
      await using terminal = ShellTerminal.start(shell, { files: { [rc]: portableScript(shell) } });
      await terminal.prompt();
      const { sequence, marks } = await terminal.run("sh -c 'exit 3'");
      expect(sequence).toBe("CDAB");
      expect(marks.every((mark) => mark.verified || mark.kind === "7")).toBe(true);
    });
  }
});
