/**
 * A claim about the emulator: bytes, and what must be on the screen then. In `input` and `reply` the sign ␛ stands for
 * the escape character. Rows and columns count from 1, as the sequences themselves count.
 */
import type { Style } from "../../../src/protocol/grid.ts";

export interface Case {
  readonly name: string;
  readonly input: string;
  /** Size of the screen; 5 rows of 10 columns by default. */
  readonly rows?: number;
  readonly cols?: number;
  /** Rows from the top without trailing blanks; missing rows are blank. */
  readonly shows?: readonly string[];
  /** Row and column of the cursor. After a character in the last column it is one past it: a wrap is pending. */
  readonly cursor?: readonly [row: number, col: number];
  /** All answers of the terminal. */
  readonly reply?: string;
  /** Of the cell at row 1, column 1. */
  readonly style?: Partial<Style>;
  readonly visible?: boolean;
  readonly alternate?: boolean;
  readonly title?: string;
}
