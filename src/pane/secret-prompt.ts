/** Who reads a password, as the person is told. Types only. */

/** A program that reads a line without echo. */
export interface SecretPrompt {
  /** Process group that holds the terminal. */
  readonly group: number;
  readonly pid: number | null;
  readonly program: string;
  readonly commandLine: string;
}
