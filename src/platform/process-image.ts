/**
 * Notices that another program replaced the session's shell (`exec zsh`): same process, other program. Two starts of
 * one program differ in what the system shows (port.ts), so replacing a shell by the same shell (`exec bash -l`) is
 * noticed too. A check costs two reads of /proc on Linux; when the system hides the program, nothing is noticed.
 */
import { platform } from "./platform.ts";
import type { ProcessImage } from "./port.ts";
import { realPath } from "./readable.ts";

interface ShellImagePort {
  /** Pid of the session's program; null when it has ended. */
  pid(): number | null;
  /** The integrated shell's file; null when the program is not one. */
  readonly file: string | null;
  /** Replaced by tests. */
  readonly read?: (pid: number) => ProcessImage | null;
}

export class ShellImage {
  private readonly file: string | null;
  private lastImage: ProcessImage | null = null;
  private pid: number | null = null;
  private replacement: string | null = null;

  constructor(private readonly port: ShellImagePort) {
    this.file = port.file === null ? null : realPath(port.file);
  }

  /** Name of the program that replaced the shell; null while the shell that was started runs. */
  get replacedBy(): string | null {
    return this.replacement;
  }

  /** The shell itself sent a mark: the process runs the shell now. */
  shown(): void {
    if (this.file === null) return;
    if (this.lastImage !== null && this.pid === this.port.pid()) return;
    this.replacement = null;
    this.lastImage = this.read();
  }

  /** @returns whether the process has become another program since the last call */
  look(): boolean {
    if (this.file === null) return false;
    const before = this.pid;
    const now = this.read();
    if (now === null) return false;
    if (before !== this.pid) this.forget();
    if (this.lastImage === null && this.isStart(now.executable)) return false;
    if (this.lastImage?.executable === now.executable && this.lastImage.start === now.start) return false;
    this.lastImage = now;
    this.replacement = now.executable.slice(now.executable.lastIndexOf("/") + 1);
    return true;
  }

  private read(): ProcessImage | null {
    this.pid = this.port.pid();
    return this.pid === null ? null : (this.port.read ?? platform().processes.image)(this.pid);
  }

  /** Resets the state after a new start of the program. */
  private forget(): void {
    this.lastImage = null;
    this.replacement = null;
  }

  /** Before its first mark the process is the shell, or this very program just before it becomes one. */
  private isStart(executable: string): boolean {
    return executable === this.file || executable === realPath(process.execPath);
  }
}
