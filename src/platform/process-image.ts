/**
 * Notices that the session's shell has become another program (`exec zsh`): the process is the same, what it runs is not.
 * The kernel gives every program that a process starts a stack of its own place, so that a shell which becomes the same
 * shell anew (`exec bash -l`) is noticed too. A look costs two reads of /proc; without /proc nothing is noticed.
 */
import fs from "node:fs";
import { type ProcessImage, processImage } from "./proc.ts";

export interface ShellImagePort {
  /** Process of the session's program; null when it has ended. */
  pid(): number | null;
  /** The integrated shell's file; null when the program is none. */
  readonly file: string | null;
  /** Replaced by tests. */
  readonly read?: (pid: number) => ProcessImage | null;
}

export class ShellImage {
  private readonly file: string | null;
  private known: ProcessImage | null = null;
  private pid: number | null = null;
  private replacement: string | null = null;

  constructor(private readonly port: ShellImagePort) {
    this.file = port.file === null ? null : realPath(port.file);
  }

  /** Name of the program that the shell has become; null while it is the shell that was started. */
  get replacedBy(): string | null {
    return this.replacement;
  }

  /** A mark of the shell's own came: what the process runs now is the shell. */
  shown(): void {
    if (this.file === null) return;
    if (this.known !== null && this.pid === this.port.pid()) return;
    this.replacement = null;
    this.known = this.read();
  }

  /** Looks. @returns whether the process has become another program since the last look */
  look(): boolean {
    if (this.file === null) return false;
    const before = this.pid;
    const now = this.read();
    if (now === null) return false;
    if (before !== this.pid) this.forget();
    if (this.known === null && this.isStart(now.executable)) return false;
    if (this.known?.executable === now.executable && this.known.stack === now.stack) return false;
    this.known = now;
    this.replacement = now.executable.slice(now.executable.lastIndexOf("/") + 1);
    return true;
  }

  private read(): ProcessImage | null {
    this.pid = this.port.pid();
    return this.pid === null ? null : (this.port.read ?? processImage)(this.pid);
  }

  /** The program was started anew. */
  private forget(): void {
    this.known = null;
    this.replacement = null;
  }

  /** Before its first mark it is the shell, or this very program just before it becomes one. */
  private isStart(executable: string): boolean {
    return executable === this.file || executable === realPath(process.execPath);
  }
}

function realPath(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return path; // removed since
  }
}
