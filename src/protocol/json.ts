/** JSON from outside. Excessive nesting would overflow the stack of code that walks through it later. */

/** Levels of arrays and objects: an operation's input takes a few, and its envelopes a few more. */
const MAX_DEPTH = 128;

/** @throws Error when the text is not JSON, or nested too deep */
export function parseJson(text: string): unknown {
  if (isDeep(text)) throw new Error(`nested deeper than ${MAX_DEPTH} levels`);
  return JSON.parse(text);
}

/** The value of a JSON text; null for other text. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function isDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === BACKSLASH) index++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    // [ and {, ] and }
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > MAX_DEPTH) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
