/**
 * Processor time of a test file with all that it started. Servers and session processes leave their starter's tree, so
 * where Linux permits it each file has a cgroup of its own; elsewhere only what was waited for counts.
 */
import fs from "node:fs";
import { join } from "node:path";

/** The hierarchies that count, and how: version 2 alone, version 2 beside 1, version 1 in nanoseconds. */
const HIERARCHIES = [
  { dir: "/sys/fs/cgroup", mark: "cgroup.controllers", read: readUsage },
  { dir: "/sys/fs/cgroup/unified", mark: "cgroup.controllers", read: readUsage },
  { dir: "/sys/fs/cgroup/cpuacct", mark: "cpuacct.usage", read: readNanoseconds },
] as const;
let groups = 0;

export class ProcessorTime implements Disposable {
  private constructor(
    private readonly dir: string | null,
    private readonly read: (dir: string) => number,
  ) {}

  static open(): ProcessorTime {
    for (const { dir, mark, read } of HIERARCHIES) {
      const group = join(dir, `wsh-check-${process.pid}-${groups++}`);
      try {
        if (!fs.existsSync(join(dir, mark))) continue;
        fs.mkdirSync(group);
        read(group);
        return new ProcessorTime(group, read);
      } catch {
        // not this one: read-only, or another user's
      }
    }
    return new ProcessorTime(null, () => 0);
  }

  /** What runs `command` so that it is counted. */
  command(command: readonly string[]): string[] {
    if (this.dir === null) return [...command];
    return ["sh", "-c", 'echo $$ > "$0" 2> /dev/null; exec "$@"', join(this.dir, "cgroup.procs"), ...command];
  }

  /** In seconds. @param waited of the process and those that it waited for, in µs */
  seconds(waited: number): number {
    return Math.max(waited / 1e6, this.dir === null ? 0 : this.read(this.dir));
  }

  [Symbol.dispose](): void {
    if (this.dir === null) return;
    try {
      fs.rmdirSync(this.dir);
    } catch {
      // a process that a test has left is still in it
    }
  }
}

function readUsage(dir: string): number {
  const usage = /^usage_usec (\d+)$/m.exec(fs.readFileSync(join(dir, "cpu.stat"), "utf8"))?.[1];
  if (usage === undefined) throw new Error(`${dir} has no processor time`);
  return Number(usage) / 1e6;
}

function readNanoseconds(dir: string): number {
  return Number(fs.readFileSync(join(dir, "cpuacct.usage"), "utf8")) / 1e9;
}
