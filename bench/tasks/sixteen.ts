/**
 * Sixteen tasks that need a terminal, as steps that any tool can take: each names the text to wait for, the keys to
 * type then, and the text of the answer. Commands are files, so that no echo of a command looks like its output.
 */
import fs from "node:fs";
import { join } from "node:path";

/** `see`: wait until a pattern is shown. `find`: the same, and the match is the answer. Patterns are RE2 and ERE. */
export interface Step {
  readonly see?: string;
  readonly find?: string;
  /** `\n` is Enter; `$code` is the first group of the step's pattern. */
  readonly type?: string;
  readonly keys?: readonly string[];
  /** A command beside the terminal. */
  readonly beside?: string;
}

export interface Task {
  readonly name: string;
  /** A program that the task requires. */
  readonly needs?: string;
  readonly command: string;
  readonly steps: readonly Step[];
  /** Texts that the model must have been shown. */
  readonly fact: string;
  /** The program overwrites its output. */
  readonly isOverwritten?: true;
}

/** Writes the tasks' files. @param port two free TCP ports begin here */
export function sixteenTasks(dir: string, ports: readonly [number, number]): readonly Task[] {
  const file = (name: string, text: string): void => fs.writeFileSync(join(dir, name), text, { mode: 0o755 });
  const lines = (first: string, last: string): string => `${[first, ..."abcdefghijklmnop", last].join("\n")}\n`;
  file(
    "patch.sh",
    `git init -q g; cd g; git config user.email a@b.c; git config user.name n; printf '${lines("one", "two").replaceAll("\n", "\\n")}' >f
git add f; git commit -qm f; printf '${lines("first", "last").replaceAll("\n", "\\n")}' >f; git add -p; git diff --cached | grep '^[+][a-z]'; echo staged\n`,
  );
  file("sum.py", "total = 0\nfor n in range(7):\n    total += n * n\nprint(total)\n");
  file("menu.sh", "whiptail --menu Choose 15 40 3 a Alpha b Beta c Gamma 2>m; echo chosen:$(cat m)\n");
  file(
    "list.sh",
    "whiptail --separate-output --checklist Choose 15 40 3 a A off b B off c C off 2>l; echo chosen:$(cat l)\n",
  );
  file("watch.sh", "echo watching; until [ -e news ]; do sleep 0.1; done; echo changed: $(cat news); sleep 100\n");
  file("servers.sh", `for p in ${ports.join(" ")}; do python3 -um http.server $p & done; wait\n`);
  file(
    "progress.sh",
    `[ -t 1 ] || exit 9; printf '[1] step\\rnote: cached %s\\r[2] step of two !!!!!!\\nall is done\\n' 4711\n`,
  );
  file("broken.sh", "printf '\\033(0'; echo left\n");
  file("code.sh", 'c=$RANDOM$RANDOM; read -t 10 -p "Code $c: " x; [ "$x" = "$c" ] && echo accepted || echo refused\n');
  file("line.py", "print('x' * 3000000 + ' NEEDLE ' + str(4700 + 11) + ' ' + 'y' * 100000)\n");
  file("key.sh", "rm -f k*; ssh-keygen -q -t ed25519 -N secret1 -f k && ssh-keygen -p -f k; echo over\n");
  const enter = { type: "\n" };
  return [
    {
      ...{ name: "git add -p", command: "sh patch.sh", fact: "\\+last", needs: "git" },
      steps: [
        { see: "\\(1/2\\) Stage", type: "n\n" },
        { see: "\\(2/2\\) Stage", type: "y\n" },
        { see: "staged$" },
        { find: "^[+]last" },
      ],
    },
    {
      ...{ name: "pdb", command: "python3 -m pdb sum.py", fact: "55", needs: "python3" },
      steps: [
        { see: "total = 0", type: "b 3, n == 6\n" },
        { see: "Breakpoint 1 at", type: "c\n" },
        { see: "sum.py\\(3\\)", type: "p total\n" },
        { find: "^55$", type: "q\n" },
      ],
    },
    {
      ...{ name: "whiptail, a menu", command: "sh menu.sh", fact: "chosen:c", needs: "whiptail" },
      steps: [{ see: "Gamma", keys: ["Down", "Down", "Enter"] }, { find: "chosen:.*" }],
    },
    {
      ...{ name: "whiptail, a check list", command: "sh list.sh", fact: "chosen:a b", needs: "whiptail" },
      steps: [{ see: "c +C", keys: ["Space", "Down", "Space", "Tab", "Enter"] }, { find: "chosen:.*" }],
    },
    {
      ...{ name: "a watcher", command: "sh watch.sh", fact: "changed: two words" },
      steps: [
        { see: "watching", beside: "echo two words > news.new; mv news.new news" },
        { find: "changed: .*", keys: ["Ctrl+C"] },
      ],
    },
    {
      ...{ name: "Ctrl+Z", command: "sleep 300", fact: "Running", needs: "bash" },
      steps: [
        { keys: ["Ctrl+Z"] },
        { see: "Stopped", type: "bg; jobs\n" },
        { find: "Running.*sleep 300", type: "kill %1\n" },
      ],
    },
    {
      ...{ name: "less", command: "seq 5000 | less", fact: "4321", needs: "less" },
      steps: [
        { see: "^:", type: "/^4321\n" },
        { find: "^4321$", type: "q" },
      ],
    },
    {
      name: "top",
      command: "top",
      fact: "Tasks: +[0-9]+",
      needs: "top",
      steps: [{ find: "Tasks: +[0-9]+ total", type: "q" }],
    },
    {
      ...{ name: "two servers", command: "sh servers.sh", fact: "200 -", needs: "python3" },
      steps: [
        { see: `port ${ports[0]}` },
        {
          see: `port ${ports[1]}`,
          beside: `curl -s -o /dev/null 127.0.0.1:${ports[0]} && curl -s -o /dev/null 127.0.0.1:${ports[1]}`,
        },
        { find: '" 200 -' },
        { keys: ["Ctrl+C"] },
      ],
    },
    {
      ...{ name: "a progress line", command: "sh progress.sh", fact: "cached 4711", isOverwritten: true },
      steps: [{ find: "note: cached [0-9]+" }],
    },
    {
      ...{ name: "a pass phrase", command: "sh key.sh", fact: "saved with the new", needs: "ssh-keygen" },
      steps: [
        { see: "old passphrase", type: "secret1\n" },
        { see: "new passphrase", type: "secret2\n" },
        { see: "same passphrase", type: "secret2\n" },
        { find: "saved with the new passphrase" },
      ],
    },
    {
      ...{ name: "node's REPL", command: "node", fact: "42", needs: "node" },
      steps: [
        { see: "^> ", type: "const f = (n) => n * 7\n" },
        { see: "undefined", type: "f(6)\n" },
        { find: "^42$", type: ".exit\n" },
      ],
    },
    {
      ...{ name: "a broken terminal", command: "sh broken.sh", fact: "mended-42" },
      steps: [{ see: "[^ ]", type: "printf '\\033(B'; clear; echo mended-$((40+2))\n" }, { find: "mended-42" }],
    },
    {
      ...{ name: "npm init", command: "mkdir -p demo; cd demo; npm init", fact: "demo-x", needs: "npm" },
      steps: [
        { see: "package name", type: "demo-x\n" },
        ...[
          "version:",
          "description:",
          "entry point:",
          "test command:",
          "git repository:",
          "keywords:",
          "author:",
          "license:",
        ].map((see) => ({ see, ...enter })),
        { see: "Is this OK", type: "yes\n" },
        { type: "grep name package.json; cd ..\n" },
        { find: '^ *"name": "demo-x"' },
      ],
    },
    {
      ...{ name: "a code within 10 s", command: "bash code.sh", fact: "accepted" },
      steps: [{ see: "Code ([0-9]+): ", type: "$code\n" }, { find: "accepted|refused" }],
    },
    {
      name: "a line of 3 MB",
      command: "python3 line.py",
      fact: "NEEDLE 4711",
      needs: "python3",
      steps: [{ find: "NEEDLE [0-9]+" }],
    },
  ];
}
