/** Short messages at the page's edge, each with at most one action. */
import { signal } from "@preact/signals";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "plain" | "error";
  readonly action?: { readonly label: string; run(): void };
}

/** Time for which a message is shown, in ms: long enough to read two lines. */
const DISPLAY_MS = 6_000;
/** Maximum messages at once; the oldest is removed. */
const MAX_TOASTS = 4;

export const toasts = signal<readonly Toast[]>([]);
let nextId = 1;

/** @returns a function that removes it */
export function toast(
  text: string,
  options: Partial<Pick<Toast, "kind" | "action">> & { readonly ms?: number } = {},
): () => void {
  const { kind = "plain", action, ms = DISPLAY_MS } = options;
  const id = nextId++;
  const remove = (): void => {
    clearTimeout(timer);
    toasts.value = toasts.value.filter((each) => each.id !== id);
  };
  const timer = setTimeout(remove, ms);
  const added: Toast = {
    id,
    text,
    kind,
    ...(action === undefined
      ? {}
      : {
          action: {
            ...action,
            run() {
              remove();
              action.run();
            },
          },
        }),
  };
  // A repeated message replaces the earlier one: each refused key causes one.
  toasts.value = [...toasts.value.filter((each) => each.text !== text), added].slice(-MAX_TOASTS);
  return remove;
}

export function showError(thrown: unknown): void {
  const hint = thrown instanceof Error && "hint" in thrown && typeof thrown.hint === "string" ? thrown.hint : "";
  toast(`${thrown instanceof Error ? thrown.message : String(thrown)}${hint === "" ? "" : `. ${hint}`}`, {
    kind: "error",
  });
}
