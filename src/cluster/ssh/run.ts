/** Runs ssh and reads its output, with a limit of time and size. */
import { WshError } from "../../protocol/errors.ts";

/** Maximum bytes read of the output of startup files and our script. */
const MAX_OUTPUT_BYTES = 256 * 1024;

interface SshResult {
  readonly code: number | null;
  readonly stdout: string;
  /** ssh's error output, its last lines. */
  readonly stderr: string;
  /** Whether it printed more than the limit and was killed: its answer is unknown. */
  readonly isEndless: boolean;
}

/**
 * @param timeoutMs longest run, in ms; a person who enters a passphrase takes longer than a program
 * @param mayAsk false: neither ssh nor its children, such as the ssh of a jump host, get a terminal
 * @throws WshError machine_unreachable without an ssh
 */
export async function runSsh(
  args: readonly string[],
  {
    timeoutMs,
    input,
    mayAsk = true,
  }: { readonly timeoutMs: number; readonly input?: Bun.BunFile; readonly mayAsk?: boolean },
): Promise<SshResult> {
  let child: Bun.Subprocess<Bun.BunFile | "ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn([...args], {
      stdin: input ?? "ignore",
      stdout: "pipe",
      stderr: "pipe",
      ...(mayAsk ? {} : noPerson),
    });
  } catch (cause) {
    throw new WshError("machine_unreachable", `'${args[0]}' cannot be run`, { hint: "Install OpenSSH." }, { cause });
  }
  const timer = setTimeout(() => child.kill(), timeoutMs);
  // A remaining master may keep the pipes open: the end of the process counts, not of the pipes.
  let isEndless = false;
  const tooMuch = (): void => {
    isEndless = true;
    child.kill();
  };
  const [stdout, stderr] = [collected(child.stdout, tooMuch), collected(child.stderr, tooMuch)];
  try {
    await child.exited;
    await Promise.race([Promise.all([stdout.done, stderr.done]), Bun.sleep(PIPE_MS)]);
    return { code: child.exitCode, stdout: stdout.text(), stderr: stderr.text().trim(), isEndless };
  } finally {
    clearTimeout(timer);
    stdout.end();
    stderr.end();
  }
}

const noPerson = { detached: true, env: { ...process.env, SSH_ASKPASS_REQUIRE: "never" } } as const;

/** Time to read output written before the process ended, in ms. */
const PIPE_MS = 200;

function collected(stream: ReadableStream<Uint8Array>, tooMuch: () => void) {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  const done = (async () => {
    for (;;) {
      const { value, done: isDone } = await reader.read().catch(() => ({ value: undefined, done: true }));
      if (isDone || value === undefined) return;
      size += value.length;
      if (size <= MAX_OUTPUT_BYTES) parts.push(value);
      else tooMuch();
    }
  })();
  return {
    done,
    text: () => Buffer.concat(parts).toString("utf8"),
    end: () => void reader.cancel().catch(() => {}),
  };
}
