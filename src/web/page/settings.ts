/** The person's settings for this browser, in its storage. Contains nothing secret. */
import { computed, effect, signal } from "@preact/signals";

export interface Settings {
  readonly theme: "system" | "light" | "dark";
  /** Size of the terminals' font, in CSS pixels. */
  readonly fontSize: number;
  /** A font family to use before the others; "" for none. */
  readonly fontFamily: string;
  /** `fit`: this page counts for the sizes of sessions; `follow`: it does not. */
  readonly size: "fit" | "follow";
  readonly notices: boolean;
  /** Shortest command whose end causes a notification, in seconds. */
  readonly noticeAfterS: number;
  readonly sidebar: boolean;
  readonly miniatures: boolean;
  readonly cursorBlinks: boolean;
}

const KEY = "wsh.settings";
/** Minimum and maximum size of the font, in CSS pixels. */
export const FONT_SIZES = { least: 7, greatest: 32 } as const;

const isPhone = matchMedia("(max-width: 700px)").matches;

const defaults: Settings = {
  theme: "system",
  fontSize: isPhone ? 12 : 14,
  fontFamily: "",
  // A phone that counted would make everyone's screen small.
  size: isPhone ? "follow" : "fit",
  notices: false,
  noticeAfterS: 10,
  sidebar: true,
  miniatures: true,
  cursorBlinks: true,
};

/** Reads the stored values that have the type of the present settings. */
function read(): Settings {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof stored !== "object" || stored === null) return defaults;
    const known = Object.entries(defaults).flatMap(([name, value]) => {
      const own: unknown = Reflect.get(stored, name);
      return typeof own === typeof value ? [[name, own]] : [];
    });
    return { ...defaults, ...Object.fromEntries(known) };
  } catch {
    return defaults;
  }
}

export const settings = signal<Settings>(read());

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = signal<"light" | "dark">(prefersDark.matches ? "dark" : "light");
prefersDark.addEventListener("change", ({ matches }) => {
  systemTheme.value = matches ? "dark" : "light";
});
/** The theme that the page shows now. */
export const shownTheme = computed(() => {
  const { theme } = settings.value;
  return theme === "system" ? systemTheme.value : theme;
});

export function change(changes: Partial<Settings>): void {
  settings.value = { ...settings.value, ...changes };
}

export function changeFontSize(by: number): void {
  const wanted = settings.value.fontSize + by;
  change({ fontSize: Math.min(FONT_SIZES.greatest, Math.max(FONT_SIZES.least, wanted)) });
}

effect(() => {
  const { fontFamily, fontSize, cursorBlinks } = settings.value;
  const root = document.documentElement;
  root.dataset.theme = shownTheme.value;
  root.style.setProperty("--font-size", `${fontSize}px`);
  root.style.setProperty("--own-font", fontFamily === "" ? "ui-monospace" : `"${fontFamily.replaceAll('"', "")}"`);
  root.classList.toggle("still", !cursorBlinks);
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // Without storage, the settings last as long as the page.
  }
});
