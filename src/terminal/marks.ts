/** Shell integration marks in the stream: OSC 133 (A, B, C, D), OSC 633 (E, and our L, T and P) and OSC 7. Pure. */

/** A position in logical (unwrapped) lines counted since the session began. */
export interface Position {
  readonly line: number;
  /** Cell of the logical line. */
  readonly col: number;
}

export interface Mark {
  readonly kind: "A" | "B" | "C" | "D" | "E" | "L" | "T" | "P";
  /** With D and T; null: the shell did not report it. */
  readonly exitCode: number | null;
  readonly params: Readonly<Record<string, string>>;
  /** With E; with C if the shell reports it there (fish 4). */
  readonly commandLine?: string;
  /** The nonce that the mark carries, unverified. */
  readonly nonce: string | null;
  /** Output bytes up to the end of the mark. */
  readonly offset: number;
  readonly position: Position;
}

export type MarkText = Omit<Mark, "offset" | "position">;

/** Longest mark to read, in characters: a command line can be long, a parameter cannot. */
const MAX_MARK = 262_144;
/** The property by which our script reports that it is inactive; the other properties belong to other terminals. */
export const INACTIVE_PROPERTY = "WshInactive";

/** The contents of OSC 133; null unless it is A, B, C or D. */
export function parsePromptMark(data: string): MarkText | null {
  const [kind, ...rest] = data.slice(0, MAX_MARK).split(";");
  if (kind !== "A" && kind !== "B" && kind !== "C" && kind !== "D") return null;
  const params: Record<string, string> = Object.create(null);
  let exitCode: number | null = null;
  for (const [i, part] of rest.entries()) {
    const equals = part.indexOf("=");
    if (equals > 0) params[part.slice(0, equals)] = part.slice(equals + 1);
    else if (i === 0 && kind === "D" && /^-?\d{1,10}$/.test(part)) exitCode = Number(part);
  }
  const nonce = params.wsh ?? null;
  const commandLine = kind === "C" && params.cmdline_url !== undefined ? urlDecoded(params.cmdline_url) : null;
  return { kind, exitCode, params, nonce, ...(commandLine === null ? {} : { commandLine }) };
}

/** Null when it is not percent-encoded text. */
function urlDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * The contents of OSC 633; null unless it is `E;COMMANDLINE[;NONCE]`, or one of our own: `L;LINE;NONCE;q=…;length=…`,
 * the line editor's contents; `T;b;NONCE` and `T;STATUS;NONCE`, around a typed command; `P;WshInactive=WHY`.
 */
export function parseCommandMark(data: string): MarkText | null {
  const [kind, escaped = "", nonce, ...rest] = data.slice(0, MAX_MARK).split(";");
  if (kind === "T") {
    const exitCode = /^\d{1,10}$/.test(escaped) ? Number(escaped) : null;
    return exitCode === null && escaped !== "b" ? null : { kind, exitCode, params: {}, nonce: nonce ?? null };
  }
  if (kind === "P") {
    const why = escaped.startsWith(`${INACTIVE_PROPERTY}=`) ? escaped.slice(INACTIVE_PROPERTY.length + 1) : null;
    return why === null ? null : { kind, exitCode: null, params: { why }, nonce: null };
  }
  if (kind !== "E" && kind !== "L") return null;
  const params: Record<string, string> = Object.create(null);
  for (const part of kind === "L" ? rest : []) {
    const equals = part.indexOf("=");
    if (equals > 0) params[part.slice(0, equals)] = part.slice(equals + 1);
  }
  return { kind, exitCode: null, params, commandLine: unescapeCommand(escaped), nonce: nonce ?? null };
}

/** VS Code's escaping: `\\` and `\xHH`, the bytes of UTF-8. */
function unescapeCommand(text: string): string {
  if (!text.includes("\\")) return text;
  const bytes: number[] = [];
  const source = Buffer.from(text);
  for (let i = 0; i < source.length; i++) {
    const hex = /^x([0-9a-fA-F]{2})/.exec(source.toString("latin1", i + 1, i + 4))?.[1];
    if (source[i] !== 0x5c) bytes.push(source[i] ?? 0);
    else if (hex !== undefined) {
      bytes.push(parseInt(hex, 16));
      i += 3;
    } else if (source[i + 1] === 0x5c) {
      bytes.push(0x5c);
      i++;
    } else bytes.push(0x5c);
  }
  return Buffer.from(bytes).toString("utf8");
}

/** The path of an OSC 7 `file://host/path`; null when it is not an absolute path. */
export function parseCwd(data: string): string | null {
  const path = /^file:\/\/[^/]*(\/.*)$/s.exec(data)?.[1];
  if (path === undefined) return null;
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes("\0") ? null : decoded;
  } catch {
    // The shell does not encode its path, which contains a percent sign.
    return path;
  }
}
