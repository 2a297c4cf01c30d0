/**
 * Decides which command lines run again at once in a restored pane: those that only show something, or that resume
 * their work. Every other line is offered at the prompt, and the person decides. A line is safe as a whole or not at
 * all: one program with plain arguments, and no shell syntax but quotes. Pure.
 */

import { onlyResumes, resumeLine } from "./agent-resume.ts";

export interface ResumedLine {
  readonly line: string;
  /** Whether the line runs at once; otherwise it is inserted at the prompt, unsent. */
  readonly runs: boolean;
}

/** Whether these arguments are harmless, or the line that resumes, if it differs. */
type Rule = (args: readonly string[]) => boolean | string;

const always: Rule = () => true;

/** Files and flags that neither run commands nor write. */
const editor: Rule = (args) => args.every((arg) => !/^[-+]/.test(arg) || /^(-[RnOopM]|-[Oop]\d+|\+\d+|--)$/.test(arg));
const pager: Rule = (args) => args.every((arg) => !arg.startsWith("+") || /^\+(F|G|\d+)$/.test(arg));
const tail: Rule = (args) => args.some((arg) => /^(-[a-zA-Z0-9]*[fF]\d*|--follow(=.*)?|--retry)$/.test(arg));

/** Options of ssh that take a value. */
const sshValues = new Set([..."BbcDEeFIiJLlmOopQRSWw"].map((letter) => `-${letter}`));

/** A login without a command: a command would run a second time. */
const login: Rule = (args) => {
  let hosts = 0;
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "-O" || arg === "-W" || /^-[a-zA-Z]*[fNTQ]/.test(arg)) return false;
    if (/^-o$/.test(arg) && /command/i.test(args[index + 1] ?? "")) return false;
    if (/^-o.*command/i.test(arg)) return false;
    if (sshValues.has(arg)) index++;
    else if (!arg.startsWith("-")) hosts++;
  }
  return hosts === 1;
};

/** An agent without a task in its line resumes its own last conversation. */
const resumes =
  (line: string): Rule =>
  (args) =>
    args.length === 0 || args.join(" ") === line.split(" ").slice(1).join(" ") ? line : false;

const rules: Readonly<Record<string, Rule>> = {
  less: pager,
  tail,
  top: always,
  htop: always,
  man: (args) => args.every((arg) => /^[\w.:+-]+$/.test(arg) && !/^-[PH]|^--(pager|html)/.test(arg)),
  vim: editor,
  nvim: editor,
  vi: editor,
  view: editor,
  ssh: login,
  claude: resumes("claude --continue"),
  codex: resumes("codex resume --last"),
};

/** Matches a line whose program runs another one with fewer rights, or elsewhere. */
const confining =
  /(?:^|[\s/;&|("'])(?:bwrap|docker|podman|nerdctl|firejail|nsjail|sandbox-exec|systemd-run|unshare|chroot|sudo|su|doas|ssh|wsh)\s/;

/**
 * The line that restarts the program of an earlier line.
 * @param program name of the program that held the terminal, if known: one that the line does not name was started by
 * the line's program, and cannot be resumed
 * @param own entries of the setting restore_programs
 * @param talk the conversation of the agent that the line started
 */
export function resumedLine(
  line: string,
  program: string | null,
  own: readonly string[] = [],
  talk: { readonly agent: string; readonly id: string } | null = null,
): ResumedLine {
  const words = plainWords(line);
  // The work of an agent in a sandbox, a container or on another machine is resumed there.
  const its = talk === null || confining.test(line) ? null : resumeLine(talk.agent, talk.agent, talk.id);
  if (words === null) return { line: its ?? line, runs: false };
  const [file = "", ...args] = words;
  const name = file.slice(file.lastIndexOf("/") + 1);
  for (const entry of own) {
    const index = entry.indexOf("=");
    if (name !== (index < 0 ? entry : entry.slice(0, index))) continue;
    return { line: index < 0 ? line : entry.slice(index + 1), runs: true };
  }
  if (talk !== null && its !== null) {
    const isAgent = name === talk.agent && /^[\w./@+-]+$/.test(file);
    const resumed = isAgent ? resumeLine(talk.agent, file, talk.id) : its;
    // A task in the line is not given again.
    return { line: resumed ?? its, runs: isAgent && onlyResumes(args) };
  }
  const rule = rules[name];
  if (rule === undefined || (program !== null && !isSame(program, name))) return { line, runs: false };
  const safe = rule(args);
  return typeof safe === "string" ? { line: safe, runs: true } : { line, runs: safe };
}

/** The system truncates program names, and editors, pagers and agents run under other names. */
function isSame(program: string, name: string): boolean {
  const aliases: Readonly<Record<string, readonly string[]>> = {
    vi: ["vim", "nvim", "vim.basic", "vim.tiny", "busybox"],
    vim: ["vim.basic", "vim.tiny", "vi", "vim.nox", "vim.gtk3"],
    view: ["vim", "vi", "vim.basic", "vim.tiny"],
    man: ["less", "pager", "more", "most"],
    claude: ["node", "bun"],
    codex: ["node", "bun"],
  };
  return program === name.slice(0, 15) || (aliases[name]?.includes(program) ?? false);
}

/** The words of a line with no shell syntax but quotes; null for any other. */
export function plainWords(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  for (let index = 0; index < line.length; index++) {
    const char = line.charAt(index);
    if (char === "'" || char === '"') {
      const end = line.indexOf(char, index + 1);
      const inside = end < 0 ? null : line.slice(index + 1, end);
      if (inside === null || (char === '"' && /[$`\\!]/.test(inside))) return null;
      word = (word ?? "") + inside;
      index = end;
    } else if (char === " ") {
      if (word !== null) words.push(word);
      word = null;
    } else if (/[A-Za-z0-9_./:@%+=,-]/.test(char) || char > "\x7f" || (char === "~" && word === null)) {
      word = (word ?? "") + char;
    } else return null;
  }
  if (word !== null) words.push(word);
  const [first] = words;
  // An assignment before a command is not a program.
  return first === undefined || first.includes("=") ? null : words;
}
