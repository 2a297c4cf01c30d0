/**
 * Removes the text of commands from the journal of events: it must not remain there after the history has deleted it.
 */
import fs from "node:fs";
import { segmentPath, segmentsIn } from "./segments.ts";

/** One event of a line. A full disk can cut an event before its newline; the next process then appends its own to the line. */
const anEvent = /\{"event":"(?:(?!\{"event":").)*/g;
/** A command's text, even if the event was cut inside it. */
const commandText = /"command":"(?:[^"\\]|\\.)*("|\\?$)/;

/** Overwrites in place, so that every cursor stays valid. @throws the system's error */
export function forgetCommands(directory: string): void {
  for (const segment of segmentsIn(directory)) {
    const fd = fs.openSync(segmentPath(directory, segment), fs.constants.O_RDWR | fs.constants.O_NOFOLLOW);
    try {
      // Read as Latin-1, so that a position in the text is one in the file.
      let offset = 0;
      for (const line of fs.readFileSync(fd, "latin1").split("\n")) {
        for (const { 0: event, index } of line.matchAll(anEvent)) {
          const found = event.startsWith('{"event":"command_') ? commandText.exec(event) : null;
          if (found === null) continue;
          const empty = found[1] === '"' ? '"command":""' : '"command":"';
          fs.writeSync(fd, empty.padEnd(found[0].length), offset + index + found.index, "latin1");
        }
        offset += line.length + 1;
      }
    } finally {
      fs.closeSync(fd);
    }
  }
}
