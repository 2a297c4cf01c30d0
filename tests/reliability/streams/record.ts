/**
 * `bun tests/reliability/streams/record.ts [NAME…]` records the streams again: each program in a pseudo terminal of
 * 80×24 with TERM=xterm-256color, whose queries the terminal model answers, as wsh would. Linux, as root: each runs in
 * separate name spaces. Missing programs are named and their recordings left unchanged.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../../support/programs.ts";
import { until } from "../../support/until.ts";
import { type StreamProgram, streamPrograms } from "./programs.ts";
import { quietTerminal } from "./quiet-terminal.ts";

const target = join(import.meta.dir, "../../fixtures/streams");
/** Longest recording in bytes; later output is left out. */
const LONGEST = 30_000;
/** A program that writes nothing for so long, in ms, has finished its reaction to a key. */
const QUIET_MS = 250;

/** The directory in which the programs run, and which they display. */
const stage = "/tmp/demo";

function setStage(): void {
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(join(stage, "sub"), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(stage, name), text);
  write(
    "notes.c",
    '#include <stdio.h>\n\n/* says hello */\nint main(void)\n{\n\tprintf("hello, %s\\n", "demo");\n\treturn 0;\n}\n',
  );
  write(
    "README.md",
    "# A demo project\n\nIt has *two* files and a longer line: the quick brown fox jumps over the lazy dog, twice a day.\n\n- demo one\n- demo two\n",
  );
  write("lines.txt", Array.from({ length: 200 }, (_, i) => `line ${i + 1} of the demo\n`).join(""));
  write("wide.txt", Array.from({ length: 60 }, (_, i) => `${"0123456789".repeat(20)} ${i}\n`).join(""));
  write(
    "demo.1",
    '.TH DEMO 1 2020-01-01 demo "Demo Manual"\n.SH NAME\ndemo \\- show how a manual looks\n.SH SYNOPSIS\n.B demo\n[\\fB\\-v\\fR] \\fIfile\\fR ...\n.SH DESCRIPTION\n' +
      "The\n.B demo\nprogram will frob every\n.I file\nthat it is given, in order.\n.PP\n".repeat(12),
  );
  write(
    "unicode.txt",
    "plain é e\u0301 ñ\n日本語 中文 한국어 |\nΑΒΓ Кириллица\n→ ← ↑ ↓ ■ □ ● ○ │ ─ ┌ ┐ └ ┘ █ ░\n" +
      "漢".repeat(41) +
      "\n" +
      "a" +
      "漢".repeat(41) +
      "|\n\ttab\tstops\n\x1b[7m reversed 漢字 \x1b[0m\nend of it\n",
  );
  write(
    "emoji.txt",
    "👍 😀|\n👩‍👩‍👧 family|\n🇩🇪🇫🇷 flags|\n👍🏽 tone|\n⚠️ sign|\n☂ ☂︎ text|\nक्षि नमस्ते|\n각 jamo|\nend of it\n",
  );
  const attribute = (sgr: string): string => `\x1b[${sgr}m ${sgr} \x1b[m`;
  const plain = [
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    21,
    53,
    "1;31",
    "4:3",
    "4:5;58;5;9",
    "38;5;208",
    "48;2;9;99;199",
    "38:2::1:2:3",
  ];
  const pairs = Array.from({ length: 16 }, (_, i) => `${i < 8 ? 30 + i : 82 + i};${i < 8 ? 47 - i : 115 - i}`);
  const off =
    "\x1b[1;2;3;4;5;7;9m all\x1b[22m a\x1b[23m b\x1b[24m c\x1b[25m d\x1b[27m e\x1b[29m f\x1b[39;49m g\x1b[m\n";
  write(
    "attributes.txt",
    `${plain.map((sgr) => attribute(String(sgr))).join("")}\n${pairs.map(attribute).join("")}\n${off}end of it\n`,
  );
  write(
    "apt-progress.sh",
    `printf 'Reading package lists... 0%%\\r'; printf 'Reading package lists... Done\\n'
printf '\\0337\\033[0;23r\\0338\\033[1A'
for n in 1 2 3 4 5 6 7 8; do
  printf 'Unpacking part %s ...\\r\\n' $n
  printf '\\0337\\033[24;0f\\033[42m\\033[30mProgress: [%3d%%]\\033[49m\\033[39m [' $((n * 12))
  i=0; while [ $i -lt $((n * 7)) ]; do printf '#'; i=$((i + 1)); done; printf '] \\0338'
done
printf '\\n\\0337\\033[0;24r\\0338\\033[1A\\033[J'; echo finished; sleep 60
`,
  );
  write(
    "spinner.py",
    `import sys, time
for n in range(40):
    sys.stdout.write("\\r\\x1b[2K\\x1b[36m" + "⠋⠙⠹⠸⠼⠴⠦⠧"[n % 8] + "\\x1b[0m step %d" % n); sys.stdout.flush()
for row in range(6):
    sys.stdout.write("\\n\\x1b[38;5;%dm bar %d " % (20 + row * 30, row) + "\\x1b[48;2;%d;80;120m" % (row * 40) + " " * row * 8 + "\\x1b[0m\\x1b[K")
for n in range(10):
    sys.stdout.write("\\x1b[6A" + "".join("\\r\\x1b[1;3%dm%d\\x1b[22;4m u \\x1b[m\\x1b[1B" % (i % 8, n) for i in range(6)))
sys.stdout.write("\\nall done\\n"); sys.stdout.flush(); time.sleep(60)
`,
  );
  const git = (...args: string[]): void => {
    const identity = {
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_AUTHOR_NAME: "A. Demo",
      GIT_AUTHOR_EMAIL: "demo@example.org",
    };
    const committer = { GIT_COMMITTER_NAME: "A. Demo", GIT_COMMITTER_EMAIL: "demo@example.org" };
    const dates = { GIT_AUTHOR_DATE: "2020-01-02T03:04:05Z", GIT_COMMITTER_DATE: "2020-01-02T03:04:05Z" };
    Bun.spawnSync(["git", "-C", stage, ...args], {
      env: { PATH: process.env.PATH ?? "", ...identity, ...committer, ...dates },
    });
  };
  git("init", "-q", "-b", "main");
  for (const [name, files] of [
    ["first", ["notes.c"]],
    ["second", ["README.md"]],
  ] as const) {
    git("add", ...files);
    git("commit", "-q", "-m", `${name} commit`, "-m", "With a longer text below the title.");
  }
  git("checkout", "-q", "-b", "side", "HEAD~1");
  git("add", "demo.1");
  git("commit", "-q", "-m", "a manual");
  git("checkout", "-q", "main");
  git("merge", "-q", "side", "-m", "third: merge of side");
  writeFileSync(join(stage, "README.md"), "# A demo project\n\nIt was changed.\n\n- demo one\n- added\n");
}

async function record({ name, command, steps }: StreamProgram): Promise<void> {
  const parts: Uint8Array[] = [];
  let heard = performance.now();
  let answer: (bytes: Uint8Array) => void = () => {};
  using screen = quietTerminal({ onReply: (bytes) => answer(bytes) });
  const script = 'hostname demo; cd "$0" && exec "$@"';
  const home = mkdtempSync("/tmp/demo-home-");
  const child = Bun.spawn(
    ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "sh", "-c", script, stage, ...command],
    {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: home,
        TMPDIR: home,
        USER: "demo",
        TERM: "xterm-256color",
        LANG: "C.UTF-8",
        SHELL: "/bin/sh",
        PS1: "demo$ ",
        NODE_REPL_HISTORY: "",
        GIT_CONFIG_GLOBAL: "/dev/null",
        LESSHISTFILE: "-",
        PAGER: "less",
      },
      terminal: {
        rows: 24,
        cols: 80,
        data: (_, bytes) => {
          const copy = new Uint8Array(bytes);
          parts.push(copy);
          heard = performance.now();
          void screen.write(copy);
        },
      },
    },
  );
  answer = (bytes) => void child.terminal?.write(bytes);
  const quiet = (): Promise<unknown> => until("quiet", () => performance.now() - heard > QUIET_MS);
  try {
    for (const step of steps) {
      if (typeof step === "string") {
        child.terminal?.write(step);
        heard = performance.now();
        await quiet();
      } else {
        await until(`${name} to show ${step}`, () => step.test(screen.lines().join("\n")), 10_000).catch((error) => {
          console.error(screen.lines().join("\n"));
          throw error;
        });
      }
    }
    await quiet();
  } finally {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(home, { recursive: true, force: true });
  }
  const bytes = Buffer.concat(parts).subarray(0, LONGEST);
  writeFileSync(join(target, `${name}.vt`), bytes);
  console.log(`${name}: ${bytes.length} bytes`);
}

const wanted = process.argv.slice(2);
try {
  for (const program of streamPrograms) {
    if (wanted.length > 0 && !wanted.includes(program.name)) continue;
    setStage();
    if (pathOf(program.command[0] ?? "") === null) console.warn(`${program.name}: not installed`);
    else await record(program).catch((error) => console.error(`${program.name}: ${error.message}`));
  }
} finally {
  rmSync(stage, { recursive: true, force: true });
}
