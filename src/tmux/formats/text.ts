/** Texts of paths, times and quoted words, as tmux's C library formats them. Pure. */

export function basename(path: string): string {
  const trimmedPath = path.replace(/\/+$/, "");
  if (path === "") return ".";
  return trimmedPath === "" ? "/" : (trimmedPath.split("/").at(-1) ?? "");
}

export function dirname(path: string): string {
  const trimmedPath = path.replace(/\/+$/, "");
  if (trimmedPath === "") return path === "" ? "." : "/";
  const slash = trimmedPath.lastIndexOf("/");
  if (slash === -1) return ".";
  return trimmedPath.slice(0, slash).replace(/\/+$/, "") || "/";
}

export function quoteShell(text: string): string {
  return text.replace(/[|&;<>()$`\\"'*?[# =%]/g, "\\$&");
}

export function quoteStyle(text: string): string {
  return text.replaceAll("#", "##");
}

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];
const two = (value: number): string => String(value).padStart(2, "0");

/** strftime(3) in the C locale, for the local time. */
export function timeText(at: Date, format: string): string {
  return format.replace(/%([A-Za-z%])/g, (whole, letter: string) => timePart(at, letter) ?? whole);
}

function timePart(at: Date, letter: string): string | undefined {
  const [day = "", month = ""] = [days[at.getDay()], months[at.getMonth()]];
  const hour12 = at.getHours() % 12 === 0 ? 12 : at.getHours() % 12;
  const offset = -at.getTimezoneOffset();
  const parts: Readonly<Record<string, () => string>> = {
    "%": () => "%",
    a: () => day.slice(0, 3),
    A: () => day,
    b: () => month.slice(0, 3),
    h: () => month.slice(0, 3),
    B: () => month,
    c: () => timeText(at, "%a %b %e %H:%M:%S %Y"),
    C: () => two(Math.floor(at.getFullYear() / 100)),
    d: () => two(at.getDate()),
    D: () => timeText(at, "%m/%d/%y"),
    e: () => String(at.getDate()).padStart(2),
    F: () => timeText(at, "%Y-%m-%d"),
    H: () => two(at.getHours()),
    I: () => two(hour12),
    j: () => String(dayOfYear(at)).padStart(3, "0"),
    k: () => String(at.getHours()).padStart(2),
    l: () => String(hour12).padStart(2),
    m: () => two(at.getMonth() + 1),
    M: () => two(at.getMinutes()),
    n: () => "\n",
    p: () => (at.getHours() < 12 ? "AM" : "PM"),
    P: () => (at.getHours() < 12 ? "am" : "pm"),
    r: () => timeText(at, "%I:%M:%S %p"),
    R: () => timeText(at, "%H:%M"),
    s: () => String(Math.floor(at.getTime() / 1000)),
    S: () => two(at.getSeconds()),
    t: () => "\t",
    T: () => timeText(at, "%H:%M:%S"),
    u: () => String(at.getDay() === 0 ? 7 : at.getDay()),
    w: () => String(at.getDay()),
    x: () => timeText(at, "%m/%d/%y"),
    X: () => timeText(at, "%H:%M:%S"),
    y: () => two(at.getFullYear() % 100),
    Y: () => String(at.getFullYear()),
    z: () => `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`,
    Z: () => zoneOf(at),
  };
  return parts[letter]?.();
}

function dayOfYear(at: Date): number {
  return Math.round(
    (Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) - Date.UTC(at.getFullYear(), 0, 0)) / 86_400_000,
  );
}

function zoneOf(at: Date): string {
  return (
    new Intl.DateTimeFormat("en", { timeZoneName: "short" })
      .formatToParts(at)
      .find(({ type }) => type === "timeZoneName")?.value ?? ""
  );
}
