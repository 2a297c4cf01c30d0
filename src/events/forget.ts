/**
 * Removes the text of commands from the journal of events: it must not remain there after the history has deleted it.
 */
import fs from "node:fs";
import { segmentPath, segmentsIn } from "./segments.ts";

const commandText = /"command":"(?:[^"\\]|\\.)*"/;

/** Overwrites in place, so that every cursor stays valid. @throws the system's error */
export function forgetCommands(directory: string): void {
  for (const segment of segmentsIn(directory)) {
    const fd = fs.openSync(segmentPath(directory, segment), fs.constants.O_RDWR | fs.constants.O_NOFOLLOW);
    try {
      // Read as Latin-1, so that a position in the text is one in the file.
      let offset = 0;
      for (const line of fs.readFileSync(fd, "latin1").split("\n")) {
        const found = line.startsWith('{"event":"command_') ? commandText.exec(line) : null;
        if (found !== null) fs.writeSync(fd, '"command":""'.padEnd(found[0].length), offset + found.index, "latin1");
        offset += line.length + 1;
      }
    } finally {
      fs.closeSync(fd);
    }
  }
}
