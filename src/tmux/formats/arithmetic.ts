/** `#{e|+|f|2:1,2}`: arithmetic and comparisons of numbers. Pure. */

const operators: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
  m: (a, b) => a % b,
  "==": (a, b) => Number(Math.abs(a - b) < 1e-9),
  "!=": (a, b) => Number(Math.abs(a - b) > 1e-9),
  ">": (a, b) => Number(a > b),
  "<": (a, b) => Number(a < b),
  ">=": (a, b) => Number(a >= b),
  "<=": (a, b) => Number(a <= b),
};

/**
 * Computes an expression of operator, flags and digits. @returns an empty text if one of them or an operand is
 * invalid
 */
export function arithmetic(
  [operator = "", flags = "", digits]: readonly string[],
  left: string,
  right: string,
): string {
  const act = operators[operator];
  const sides = [left, right].map(number);
  const [a = Number.NaN, b = Number.NaN] = flags.includes("f") ? sides : sides.map(Math.trunc);
  if (act === undefined || sides.some(Number.isNaN)) return "";
  const isReal = flags.includes("f");
  const precision = digits === undefined ? (isReal ? 2 : 0) : Number(digits);
  if (!Number.isInteger(precision)) return "";
  const result = act(a, b);
  if (!Number.isFinite(result))
    return isReal ? String(result).replace("Infinity", "inf").replace("NaN", "-nan") : "-9223372036854775808";
  return (isReal ? result : Math.trunc(result)).toFixed(Math.min(100, Math.max(0, precision))).replace(/^-0$/, "0");
}

function number(text: string): number {
  if (text === "") return 0;
  return /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) || /^\s*[+-]?0x[0-9a-f]+$/i.test(text)
    ? Number(text)
    : Number.NaN;
}
