/**
 * One client of a tmux server in control mode: every question to a terminal is a line to it. A `tmux` process for each
 * question took most of the processor time of the tests that read a terminal often.
 */
import type { FileSink, Subprocess } from "bun";

/** The client's output for a command: a line `%begin TIME NUMBER FLAGS`, output, and `%end` or `%error` with the same numbers. */
const BEGIN = /^%begin (\d+ \d+) (\d+)$/;
/** Flag of an answer to a command of this client, rather than of its start. */
const OWN = 1;

interface Question {
  readonly resolve: (output: string) => void;
  readonly reject: (error: Error) => void;
  readonly command: string;
}

export class TmuxControl {
  private readonly questions: Question[] = [];
  private readonly child: Subprocess<"pipe", "pipe", "ignore">;
  private ended = false;

  /** @param tmux the command that reaches the server */
  constructor(
    tmux: readonly string[],
    options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  ) {
    this.child = Bun.spawn([...tmux, "-C", "attach-session", "-f", "no-output"], {
      ...options,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    void this.read();
  }

  /** Runs a command; @returns its output */
  run(words: readonly string[]): Promise<string> {
    const command = words.map(quoted).join(" ");
    if (this.ended) return Promise.reject(new Error(`tmux ${command}: the server has ended`));
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.questions.push({ resolve, reject, command });
    const stdin: FileSink = this.child.stdin;
    stdin.write(`${command}\n`);
    stdin.flush();
    return promise;
  }

  async end(): Promise<void> {
    await this.run(["kill-server"]).catch(() => {}); // it may be gone already
    await this.child.exited;
  }

  private async read(): Promise<void> {
    let rest = "";
    let block: { readonly id: string; readonly isOwn: boolean; readonly lines: string[] } | null = null;
    const decoder = new TextDecoder();
    for await (const bytes of this.child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (block === null) {
          const [, id, flags] = BEGIN.exec(line) ?? [];
          if (id !== undefined) block = { id, isOwn: (Number(flags) & OWN) !== 0, lines: [] };
        } else if (line.startsWith(`%end ${block.id} `) || line.startsWith(`%error ${block.id} `)) {
          if (block.isOwn) this.answer(line.startsWith("%end"), block.lines);
          block = null;
        } else {
          block.lines.push(line);
        }
      }
    }
    this.ended = true;
    for (const { reject, command } of this.questions.splice(0)) reject(new Error(`tmux ${command}: the server ended`));
  }

  private answer(isWell: boolean, lines: readonly string[]): void {
    const question = this.questions.shift();
    const output = lines.map((line) => `${line}\n`).join("");
    if (isWell) question?.resolve(output);
    else question?.reject(new Error(`tmux ${question.command}: ${output}`));
  }
}

/** Quoted for tmux's parser: inside '' nothing has a meaning, and a line break would end the command. */
function quoted(word: string): string {
  if (!word.includes("\n")) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `"${word.replace(/["\\$]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}
