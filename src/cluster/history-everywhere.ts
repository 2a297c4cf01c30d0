/**
 * The history of several machines as one page: each is asked for its newest matching commands, and all are merged by
 * time, which their ids contain, each with its machine. A machine that does not answer is named, so that the page does
 * not seem complete.
 */
import { orUntil } from "../base/deadline.ts";
import type { HistoryCommand, HistoryPage, HistorySearchInput } from "../operations/history.ts";
import { WshError } from "../protocol/errors.ts";

/** Machines that are asked at the same time: each starts a process that reads its database. */
const MAX_ASKED = 32;
/**
 * Longest wait for one machine while no login can be prompted for, in ms: enough for a login by ssh, a server's
 * start and a search through a year.
 */
const PATIENCE_MS = 15_000;

export interface HistoryPart {
  readonly server: string;
  /** The names in its answer are those for callers here. */
  ask(input: HistorySearchInput): Promise<HistoryPage>;
}

/**
 * @param patienceMs longest wait for one of them
 * @throws WshError a machine's error about the search itself: all would return the same
 */
export async function historyOfAll(
  parts: readonly HistoryPart[],
  input: HistorySearchInput,
  patienceMs = PATIENCE_MS,
): Promise<HistoryPage> {
  const pages: HistoryPage[] = [];
  const unanswered: NonNullable<HistoryPage["unanswered"]> = [];
  const left = [...parts];
  const askNext = async (): Promise<void> => {
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      const { server } = part;
      try {
        const late = new WshError(
          "machine_unreachable",
          `machine '${server}' did not answer within ${patienceMs / 1_000} s`,
        );
        const page = await orUntil(part.ask({ ...input, all_machines: false }), { ms: patienceMs }, () => {
          throw late;
        });
        pages.push({ ...page, commands: page.commands.map((command) => ({ ...command, server })) });
      } catch (thrown) {
        const { code, message } = WshError.from(thrown);
        if (code.startsWith("invalid_")) throw thrown;
        unanswered.push({ server, code, message });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_ASKED, parts.length) }, askNext));
  const commands = pages.flatMap((page) => page.commands).sort(newerFirst);
  const page = wholeIds(commands, input.limit);
  const warnings = pages.flatMap((each) => each.warnings ?? []);
  return {
    commands: page,
    more: page.length < commands.length || pages.some(({ more }) => more),
    ...(warnings.length === 0 ? {} : { warnings: [...new Set(warnings)] }),
    ...(unanswered.length === 0 ? {} : { unanswered: unanswered.sort((a, b) => (a.server < b.server ? -1 : 1)) }),
  };
}

function newerFirst(a: HistoryCommand, b: HistoryCommand): number {
  return b.id - a.id || ((a.server ?? "") < (b.server ?? "") ? -1 : 1);
}

/** The newest commands, and all with the id of the last: the next page begins before that id and would omit them. */
function wholeIds(commands: readonly HistoryCommand[], limit: number): HistoryCommand[] {
  const last = commands[limit - 1];
  if (last === undefined) return [...commands];
  const after = commands.findIndex(({ id }) => id < last.id);
  return commands.slice(0, after < 0 ? commands.length : after);
}
