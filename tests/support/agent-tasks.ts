/**
 * Twelve tasks as agents get them in a terminal, generated from a seed: files in a directory, a text with the task,
 * and the facts that a correct answer contains. An agent knows only the text.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { seededRandom } from "./terminals/outer-screen.ts";

export interface AgentTasks {
  /** The agent's instructions, one text per task. */
  readonly texts: readonly string[];
  /** Regular expressions (sources) that a correct answer to each task matches. */
  readonly facts: readonly (readonly string[])[];
  /** For a scripted agent, which does not read texts. */
  readonly given: {
    readonly secret: string;
    readonly port: number;
    readonly timeout: number;
    readonly edition: string;
    readonly base: number;
  };
  /** Checks the files afterwards; returns a description of each difference. */
  wrong(): string[];
}

export interface TaskOptions {
  readonly seed: number;
  /** A free TCP port for the server. */
  readonly port: number;
  /** Duration of the long job, in s. */
  readonly jobSeconds: number;
}

const editions = ["minimal", "standard", "full", "developer"] as const;

/** Writes the files of all tasks below a directory. Needs git, vim and python3. */
export function makeTasks(directory: string, { seed, port, jobSeconds }: TaskOptions): AgentTasks {
  const random = seededRandom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const word = (): string => Array.from({ length: 8 }, () => "abcdefghjkmnpqrstuvwxyz"[below(23)]).join("");
  const script = (path: string, text: string): void => {
    fs.mkdirSync(join(directory, path, ".."), { recursive: true });
    fs.writeFileSync(join(directory, path), text, { mode: 0o755 });
  };

  const failing = 200 + below(1_600);
  const [expected, got] = [below(1_000), 1_000 + below(1_000)];
  script(
    "tests/run.sh",
    `#!/bin/bash
for n in $(seq 1 2000); do
  if [ $n = ${failing} ]; then echo "FAIL test_${failing}: expected ${expected}, got ${got}"; else echo "ok test_$n"; fi
done
echo "1 of 2000 tests failed" >&2
exit 1
`,
  );

  const timeout = 40 + below(50);
  fs.mkdirSync(join(directory, "config"));
  const config = `[server]\nport = 8080\ntimeout = 30\n\n[client]\nretries = 3\nname = ${word()}\n`;
  fs.writeFileSync(join(directory, "config/app.ini"), config);

  const secret = `${word()}-${1000 + below(9000)}`;
  const edition = editions[1 + below(3)] ?? "full";
  const serial = 100_000 + below(900_000);
  script(
    "install/install.sh",
    `#!/bin/bash
here="$(cd "$(dirname "$0")" && pwd)"
read -r -p "Accept the licence? [y/N] " answer
[ "$answer" = y ] || { echo "Licence not accepted."; exit 1; }
read -r -s -p "Access token: " token
echo
[ "$token" = "${secret}" ] || { echo "Token refused."; exit 2; }
items=(${editions.join(" ")}); at=0
draw() { for i in "\${!items[@]}"; do if [ $i = $at ]; then echo " > \${items[$i]}"; else echo "   \${items[$i]}"; fi; done; }
echo "Choose an edition with the arrow keys, Enter takes it:"
draw
while true; do
  IFS= read -r -s -n1 key
  if [ "$key" = $'\\e' ]; then
    read -r -s -n2 -t 1 rest
    case "$rest" in "[A"|"OA") at=$(((at + 3) % 4)) ;; "[B"|"OB") at=$(((at + 1) % 4)) ;; esac
    printf '\\e[4A\\e[J'; draw
  elif [ -z "$key" ]; then break; fi
done
echo "Installed edition \${items[$at]}, serial ${serial}."
echo "\${items[$at]}" > "$here/installed"
`,
  );

  const greeting = word();
  script(
    "server/serve.py",
    `#!/usr/bin/env python3
import http.server, sys, time
for n in range(40):
    print(f"[{n}] loading module {n} of 40", flush=True)
    time.sleep(0.05)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"${greeting}\\n"
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
`,
  );

  const broken = ["alpha", "beta", "gamma"][below(3)] ?? "beta";
  const missing = `lib${word()}.so`;
  script(
    "build/build.sh",
    `#!/bin/bash
for n in $(seq 1 300); do echo "[$1] compiling unit $n"; done
if [ "$1" = ${broken} ]; then echo "error: cannot find ${missing}" >&2; exit 4; fi
echo "[$1] done"
`,
  );

  const base = 7 + below(20);
  const power = BigInt(base) ** 21n;

  script(
    "job/job.sh",
    `#!/bin/bash\nfor n in $(seq 1 ${jobSeconds}); do sleep 1; echo "step $n"; done\necho "checksum ${serial * 3}"\n`,
  );

  const repository = join(directory, "repo");
  fs.mkdirSync(repository);
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.org", ...args], {
      cwd: repository,
      encoding: "utf8",
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    });
  git("init", "-q", "-b", "main");
  for (const [n, subject] of ["Begin", "Add the parser", "fix typo", "Add the printer"].entries()) {
    fs.writeFileSync(join(repository, `file${n}.txt`), `${subject}\n`);
    git("add", ".");
    git("commit", "-q", "-m", subject);
  }
  git("config", "user.name", "A");
  git("config", "user.email", "a@example.org");

  const lost = 500 + below(20_000);
  const disk = `sd${"abcdef"[below(6)]}${1 + below(8)}`;
  script(
    "log/show.sh",
    `#!/bin/bash\nawk 'BEGIN { for (n = 1; n <= 60000; n++) if (n == ${lost}) print n, "ERROR E4711 disk ${disk} lost"; else print n, "info request served" }'\n`,
  );

  const digest = word() + word();
  script(
    "fetch/fetch.sh",
    `#!/bin/bash\nhead -c 3000 /dev/urandom\nprintf '\\ec\\e[0m\\n'\necho "saved 3000 bytes, digest ${digest}"\n`,
  );

  const inner = word();
  script("nested/enter.sh", `#!/bin/bash\necho "entering"\nINNER=${inner} exec bash --norc --noprofile -i\n`);

  script(
    "loop/loop.sh",
    `#!/bin/bash\nn=0\ntrap 'echo "stopped, code ${serial * 7}"; exit 3' INT\nwhile true; do n=$((n+1)); echo "working $n"; sleep 0.02; done\n`,
  );

  return {
    texts: [
      `In ${directory}/tests, ./run.sh runs 2,000 tests. Which fails, and with what values? What is the exit code?`,
      `Edit ${directory}/config/app.ini in vim (start vim; do not use another program to change it): set timeout to ${timeout}. Confirm the file's new text.`,
      `Run ${directory}/install/install.sh: accept the licence, give the access token ${secret} (it is yours to type for this), choose the edition "${edition}" in its menu. Report the serial number.`,
      `Start ${directory}/server/serve.py ${port} so that it goes on in the background; when it serves, fetch http://127.0.0.1:${port}/ and report the text; then end the server.`,
      `In ${directory}/build, run ./build.sh alpha, ./build.sh beta and ./build.sh gamma at the same time. Which fails, with what exit code and error?`,
      `In an interactive python3 (its REPL, not -c), define a function f(n) over several lines that returns ${base} to the power n, and report f(21). Leave python.`,
      `Run ${directory}/job/job.sh (it takes about ${jobSeconds} seconds) and report the checksum that it prints.`,
      `In ${repository}, by git rebase -i with vim as its editor, make the commit "fix typo" a fixup of "Add the parser". Report the subjects of the log afterwards.`,
      `${directory}/log/show.sh prints 60,000 lines, one with ERROR. Report that line and the two around it.`,
      `${directory}/fetch/fetch.sh prints binary data and then a digest. Report the digest.`,
      `Run ${directory}/nested/enter.sh in a session's shell: it starts another shell inside it. In that inner shell find the value of $INNER and the exit code of: (exit 7). Leave the inner shell.`,
      `Start ${directory}/loop/loop.sh in a session, let it print at least 20 lines, interrupt it with Ctrl+C, and report the code that it prints when it stops and its exit code.`,
    ],
    facts: [
      [`test_${failing}\\b`, `\\b${expected}\\b`, `\\b${got}\\b`],
      [`timeout = ${timeout}`],
      [String(serial)],
      [greeting],
      [broken, "\\b4\\b", missing.replaceAll(".", "\\.")],
      [String(power)],
      [String(serial * 3)],
      ["Add the parser", "Add the printer"],
      [`${lost} ERROR E4711 disk ${disk}`, `${lost - 1} info`, `${lost + 1} info`],
      [digest],
      [inner, "\\b7\\b"],
      [String(serial * 7), "\\b3\\b"],
    ],
    given: { secret, port, timeout, edition, base },
    wrong: () => {
      const problems: string[] = [];
      const edited = fs.readFileSync(join(directory, "config/app.ini"), "utf8");
      if (edited !== config.replace("timeout = 30", `timeout = ${timeout}`))
        problems.push(`app.ini holds ${JSON.stringify(edited)}`);
      const chosen = join(directory, "install/installed");
      const installed = fs.existsSync(chosen) ? fs.readFileSync(chosen, "utf8").trim() : "nothing";
      if (installed !== edition) problems.push(`installed is ${installed}, not ${edition}`);
      const subjects = git("log", "--format=%s").trim().split("\n");
      if (subjects.join() !== "Add the printer,Add the parser,Begin") problems.push(`the log is ${subjects.join()}`);
      return problems;
    },
  };
}
