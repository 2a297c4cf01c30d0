/** A trace as one HTML file without external parts: each step with its screens, and the failure. Pure. */
import type { Screen } from "../client/terminal/language.ts";
import { asHtml, escapeHtml } from "./picture.ts";

export interface TracedStep {
  readonly terminal: string;
  readonly text: string;
  /** Line of the program, from the stack. */
  readonly place: string;
  /** Time since the trace began, in ms. */
  readonly at: number;
  ms: number;
  readonly before: Screen | null;
  after: Screen | null;
  failure: string | null;
}

const style = `
body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem;background:#fff;color:#222}
details{border-left:3px solid #9ac;margin:.3rem 0;padding:.1rem .6rem}
details.failed{border-color:#c33}summary{cursor:pointer;font-family:monospace}
small{color:#777}.screens{display:flex;flex-wrap:wrap;gap:1rem}
.screen{font:13px/1.25 monospace;background:#181818;color:#d8d8d8;padding:.5rem;margin:.3rem 0;overflow:auto}
.why{white-space:pre-wrap;font-family:monospace;background:#fee;padding:.5rem}
`;

/** @param casts names of the recordings beside it */
export function tracePage(steps: readonly TracedStep[], failure: unknown, casts: readonly string[]): string {
  const why =
    failure === null
      ? ""
      : `<p class="why">${escapeHtml(failure instanceof Error ? failure.message : String(failure))}</p>`;
  const recordings = casts.map((cast) => `<a href="${escapeHtml(encodeURI(cast))}">${escapeHtml(cast)}</a>`).join(", ");
  return `<!doctype html>
<meta charset="utf-8"><title>Trace of a terminal</title><style>${style}</style>
<h1>Trace of a terminal</h1>
<p>${steps.length} steps. Recordings (asciicast): ${recordings}</p>
${why}
${steps.map(stepHtml).join("\n")}
`;
}

function stepHtml({ terminal, text, place, at, ms, before, after, failure }: TracedStep): string {
  const isFailed = failure !== null;
  const facts = `${(at / 1000).toFixed(2)} s, took ${Math.round(ms)} ms, ${terminal}${place === "" ? "" : `, ${place}`}`;
  const screens = [
    ["Before", before],
    ["After", after],
  ] as const;
  const pictures = screens.map(([name, screen]) =>
    screen === null ? "" : `<div><b>${name}</b>${asHtml(screen)}</div>`,
  );
  return `<details${isFailed ? ' class="failed" open' : ""}><summary>${escapeHtml(text)} <small>${escapeHtml(facts)}</small></summary>
${isFailed ? `<p class="why">${escapeHtml(failure)}</p>` : ""}<div class="screens">${pictures.join("")}</div></details>`;
}
