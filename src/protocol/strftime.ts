/** Times by the formats of strftime(3). Pure. */

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

function timePart(date: Date, letter: string): string | undefined {
  const [day = "", month = ""] = [days[date.getDay()], months[date.getMonth()]];
  const hour12 = date.getHours() % 12 === 0 ? 12 : date.getHours() % 12;
  const offset = -date.getTimezoneOffset();
  const parts: Readonly<Record<string, () => string>> = {
    "%": () => "%",
    a: () => day.slice(0, 3),
    A: () => day,
    b: () => month.slice(0, 3),
    h: () => month.slice(0, 3),
    B: () => month,
    c: () => timeText(date, "%a %b %e %H:%M:%S %Y"),
    C: () => two(Math.floor(date.getFullYear() / 100)),
    d: () => two(date.getDate()),
    D: () => timeText(date, "%m/%d/%y"),
    e: () => String(date.getDate()).padStart(2),
    F: () => timeText(date, "%Y-%m-%d"),
    H: () => two(date.getHours()),
    I: () => two(hour12),
    j: () => String(dayOfYear(date)).padStart(3, "0"),
    k: () => String(date.getHours()).padStart(2),
    l: () => String(hour12).padStart(2),
    m: () => two(date.getMonth() + 1),
    M: () => two(date.getMinutes()),
    n: () => "\n",
    p: () => (date.getHours() < 12 ? "AM" : "PM"),
    P: () => (date.getHours() < 12 ? "am" : "pm"),
    r: () => timeText(date, "%I:%M:%S %p"),
    R: () => timeText(date, "%H:%M"),
    s: () => String(Math.floor(date.getTime() / 1000)),
    S: () => two(date.getSeconds()),
    t: () => "\t",
    T: () => timeText(date, "%H:%M:%S"),
    u: () => String(date.getDay() === 0 ? 7 : date.getDay()),
    w: () => String(date.getDay()),
    x: () => timeText(date, "%m/%d/%y"),
    X: () => timeText(date, "%H:%M:%S"),
    y: () => two(date.getFullYear() % 100),
    Y: () => String(date.getFullYear()),
    z: () => `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`,
    Z: () => zoneOf(date),
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
