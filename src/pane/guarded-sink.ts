/**
 * Catches errors of the receivers of a program's output: an error costs one report and is emitted as
 * `crashed`. Most reports occur while the emulator parses; it would rethrow the error outside any handler,
 * and so end the process with all its panes.
 */
import type { ProgramSink } from "./program.ts";

export function guardSink(sink: Required<ProgramSink>): ProgramSink {
  const guard =
    <Given extends unknown[]>(report: (...given: Given) => void) =>
    (...given: Given): void => {
      try {
        report(...given);
      } catch (error) {
        sink.crashed(error);
      }
    };
  return {
    crashed: sink.crashed,
    chunk: guard(sink.chunk),
    wantsRaw: sink.wantsRaw,
    mark: guard(sink.mark),
    bell: guard(sink.bell),
    title: guard(sink.title),
    cwd: guard(sink.cwd),
    alternate: guard(sink.alternate),
    clipboard: guard(sink.clipboard),
    attention: guard(sink.attention),
    effect: guard(sink.effect),
    reset: guard(sink.reset),
    resizing: guard(sink.resizing),
    ahead: guard(sink.ahead),
    input: guard(sink.input),
    reply: guard(sink.reply),
    retired: guard(sink.retired),
    displacing: guard(sink.displacing),
    overwriting: guard(sink.overwriting),
    erasedBelow: guard(sink.erasedBelow),
    onExit: guard(sink.onExit),
  };
}
