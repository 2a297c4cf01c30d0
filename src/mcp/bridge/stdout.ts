/**
 * The bridge's stdout: whole lines in order, and the amount that the reader has not taken. Node's stream reports data
 * as written while a pipe still holds it back, so this uses Bun's sink, whose flush resolves when the bytes were taken.
 */

interface OutputEvents {
  /** More than the limit is pending: stop producing. */
  full(): void;
  /** Less than the limit is pending again. */
  room(): void;
  /** The reader is gone. */
  gone(): void;
}

export class Output {
  private readonly sink = Bun.stdout.writer();
  private queue: (string | Uint8Array)[] = [];
  private waitingBytes = 0;
  private isFull = false;
  private isGone = false;
  private writing: Promise<void> | null = null;

  constructor(
    private readonly limit: number,
    private readonly events: OutputEvents,
  ) {}

  print(line: string | Uint8Array): void {
    if (this.isGone) return;
    this.queue.push(line);
    this.waitingBytes += line.length;
    if (this.waitingBytes > this.limit && !this.isFull) {
      this.isFull = true;
      this.events.full();
    }
    this.writing ??= this.write();
  }

  /** Resolves when everything printed was taken, or the reader is gone. */
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
        this.waitingBytes -= batch.reduce((sum, line) => sum + line.length, 0);
        if (!this.isFull || this.waitingBytes > this.limit) continue;
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
