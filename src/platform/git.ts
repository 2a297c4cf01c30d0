/** Runs git with the caller's environment. */
import { defined } from "../protocol/defined.ts";
import { actingFor } from "./child-limits.ts";

export interface GitPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The agent for which git runs the repository's hooks and filters; default: the one for which this process acts. */
  readonly agent?: string | undefined;
  readonly signal?: AbortSignal;
}

/** @returns its standard output without the last newline @throws Error with git's own message */
export async function git(
  { cwd, env, agent = process.env.WSH_AGENT, signal }: GitPlace,
  ...args: readonly string[]
): Promise<string> {
  const child = actingFor(agent, () =>
    Bun.spawn(["git", ...args], {
      cwd,
      env: { ...env, ...defined({ WSH_AGENT: agent }) },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      ...defined({ signal }),
    }),
  );
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(error.trim());
  return out.trimEnd();
}
