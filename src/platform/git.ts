/** Runs git with the caller's environment. */
import { defined } from "../protocol/defined.ts";

export interface GitPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/** @returns its standard output without the last newline @throws Error with git's own message */
export async function git({ cwd, env, signal }: GitPlace, ...args: readonly string[]): Promise<string> {
  const child = Bun.spawn(["git", ...args], {
    cwd,
    env: { ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...defined({ signal }),
  });
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(error.trim());
  return out.trimEnd();
}
