/** Finds out whether a descendant of a resting process still works. */

import { platform } from "./platform.ts";
import type { Stat } from "./port.ts";

/** Maximum processes to examine, and the longest name to show, in characters. */
const MAX_LOOKED = 256;
const MAX_NAME = 40;
const shell = /^-?(?:ba|z|fi|da|a|k|mk)?sh$/;

/**
 * Examines a process's descendants until one is on a processor, waits for the disk or sleeps until a time: a resting
 * server or client does none of these. @param except omits this process and its descendants @returns the command to
 * which it belongs; null: none, or unknown
 */
export function busyChild(pid: number, except: number): string | null {
  const { processes, listeners } = platform();
  const queue: { readonly pid: number; readonly command: Stat | null }[] = [{ pid, command: null }];
  for (let index = 0; index < queue.length && index < MAX_LOOKED; index++) {
    const { pid: parent, command } = queue[index] ?? { pid: 0, command: null };
    for (const child of listeners?.children(parent) ?? []) {
      const stat = child === except ? null : processes.stat(child);
      if (stat === null || stat.state === "ended" || isHook(processes.args(child))) continue;
      const named = command !== null && !shell.test(command.name) ? command : stat;
      if (processes.activity(stat, stat.tty, null) === "working") return nameOf(named, processes.args(named.pid));
      queue.push({ pid: child, command: named });
    }
  }
  return null;
}

/** `wsh hook`: the process of the report itself. */
function isHook(args: readonly string[]): boolean {
  return args.slice(1, 3).includes("hook");
}

function nameOf({ name }: Stat, [first = name, ...rest]: readonly string[]): string {
  const text = [first.slice(first.lastIndexOf("/") + 1), ...rest].join(" ").replace(/\s+/g, " ").trim();
  return text.length > MAX_NAME ? `${text.slice(0, MAX_NAME - 1).toWellFormed()}…` : text;
}
