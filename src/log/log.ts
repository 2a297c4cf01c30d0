/**
 * Structured logs: one line per event, as text for people or as JSON for programs, to stderr or to a file. Logging
 * never fails its caller: a full disk or a closed pipe loses the line, and the next line written reports how many were
 * lost. A file's size is limited: past it, it becomes FILE.1 and a new one begins. Values come from outside, so control
 * characters are escaped: a line stays a line.
 */

import fs from "node:fs";
import { dirname } from "node:path";
import { WshError } from "../protocol/errors.ts";
import { visible, visibleJson } from "../protocol/harmless-text.ts";
import { LineWriter } from "./line-writer.ts";

export type LogLevel = "error" | "warn" | "info" | "debug";
type LogFormat = "text" | "json";
type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

interface LoggerOptions {
  /** Least urgent level to write. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** File to append to; default stderr. */
  readonly file?: string | undefined;
  readonly fields?: LogFields;
  /** Receives the finished line instead of stderr or the file. */
  readonly write?: (line: string) => void;
}

const urgency: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };
/** Size at which a log file becomes FILE.1, in bytes: days of ordinary service, minutes of trouble. */
export const largestLogBytes = 4 * 1024 * 1024;

export function createLogger(options: LoggerOptions): Logger {
  const lines = new LineWriter((lost) =>
    formatLine(options.format, new Date(), "warn", "lines_lost", { ...options.fields, lines: lost }),
  );
  const write = options.write ?? (options.file ? fileSink(options.file, lines) : stderrSink(lines));
  return loggerWith(options, write, options.fields ?? {});
}

function loggerWith(options: LoggerOptions, write: (line: string) => void, base: LogFields): Logger {
  function log(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (urgency[level] > urgency[options.level]) return;
    try {
      write(formatLine(options.format, new Date(), level, message, { ...base, ...fields }));
    } catch {
      // ENOSPC, EPIPE, EAGAIN, a value that cannot be formatted: the line is lost, the caller continues.
    }
  }
  return {
    error: (message, fields) => log("error", message, fields),
    warn: (message, fields) => log("warn", message, fields),
    info: (message, fields) => log("info", message, fields),
    debug: (message, fields) => log("debug", message, fields),
    with: (fields) => loggerWith(options, write, { ...base, ...fields }),
  };
}

/** One line with its newline: `TIME LEVEL MESSAGE key=value …`, or an object with ts, level, msg and the fields. */
export function formatLine(format: LogFormat, time: Date, level: LogLevel, message: string, fields: LogFields): string {
  const ts = time.toISOString();
  if (format === "json") return `${visibleJson({ ...mapValues(fields), ts, level, msg: message })}\n`;
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${visible(key)}=${textValue(value)}`);
  return `${ts} ${level.padEnd(5)} ${visible(message)}${pairs.join("")}\n`;
}

function mapValues(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plain(value)]));
}

function textValue(value: unknown): string {
  const shown = plain(value);
  if (typeof shown === "string") return /^[\x21\x23-\x7e]+$/.test(shown) ? shown : visibleJson(shown);
  return visibleJson(shown);
}

function plain(value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message;
  return typeof value === "bigint" ? String(value) : value;
}

function stderrSink(lines: LineWriter): (line: string) => void {
  return (line) => void lines.write(2, line);
}

/** Appends to a file opened at the first line; after a failure to open, tries again with the next line. */
function fileSink(path: string, lines: LineWriter): (line: string) => void {
  let fd: number | null = null;
  let size = 0;
  return (line) => {
    if (fd !== null && size > largestLogBytes) {
      fs.closeSync(fd);
      fd = null;
    }
    if (fd === null) {
      fd = openLogFile(path);
      size = fs.fstatSync(fd).size;
    }
    size += lines.write(fd, line);
  };
}

/**
 * Opens a log for appending, 0600, and creates its directory if missing; an oversized log is first moved to PATH.1,
 * unless the caller does that itself. The caller closes the descriptor. Throws the system's error.
 */
export function openLogFile(path: string, { rotate = true }: { readonly rotate?: boolean } = {}): number {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const before = fs.lstatSync(path, { throwIfNoEntry: false });
  if (rotate && before !== undefined && before.size > largestLogBytes) fs.renameSync(path, `${path}.1`);
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR, O_WRONLY } = fs.constants;
  // A file is also readable: writers check whether the previous line is complete. A pipe is not: it would
  // then always have a reader.
  const access = before === undefined || before.isFile() ? O_RDWR : O_WRONLY;
  const fd = fs.openSync(path, access | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const { uid } = fs.fstatSync(fd);
  if (uid === 0 || uid === process.getuid?.()) return fd;
  // Another user created the file in a shared directory to read our log.
  fs.closeSync(fd);
  throw new WshError("unsafe_path", `${path} belongs to user ${uid}`);
}
