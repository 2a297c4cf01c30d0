/**
 * The bridge's stdout: whole lines in order, and knowledge of what the reader has not taken yet. Node's stream says that
 * everything is written while a pipe still holds it back, so Bun's sink is used, whose flush ends when the bytes left.
 */

export interface OutputEvents {
  /** More than the limit waits: stop producing. */
  full(): void;
  /** Less than the limit waits again. */
  room(): void;
  /** The reader is gone. */
  gone(): void;
}

export class Output {
  private readonly sink = Bun.stdout.writer();
  private queue: (string | Uint8Array)[] = [];
  private waiting = 0;
  private isFull = false;
  private isGone = false;
  private writing: Promise<void> | null = null;

  constructor(
    private readonly limit: number,
    private readonly events: OutputEvents,
  ) {}

  say(line: string | Uint8Array): void {
    if (this.isGone) return;
    this.queue.push(line);
    this.waiting += line.length;
    if (this.waiting > this.limit && !this.isFull) {
      this.isFull = true;
      this.events.full();
    }
    this.writing ??= this.write();
  }

  /** Resolves when everything that was said has left, or the reader has. */
  async flushed(): Promise<void> {
    while (this.writing !== null) await this.writing;
  }

  private async write(): Promise<void> {
    try {
      while (this.queue.length > 0) {
        const batch = this.queue;
        this.queue = [];
        await Promise.all(batch.map((line) => this.sink.write(line)));
        await this.sink.flush();
        this.waiting -= batch.reduce((sum, line) => sum + line.length, 0);
        if (!this.isFull || this.waiting > this.limit) continue;
        this.isFull = false;
        this.events.room();
      }
    } catch {
      this.isGone = true;
      this.queue = [];
      this.events.gone();
    } finally {
      this.writing = null;
    }
  }
}
