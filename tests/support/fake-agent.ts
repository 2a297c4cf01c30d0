/**
 * An AI agent with an input box, as a separate program: `bun claude.ts BEHAVIOUR`. Its input is appended to the file
 * in FAKE_LOG, one JSON string per line; hooks are reported by the command in FAKE_HOOK.
 */
import { appendFileSync } from "node:fs";

const behaviour = process.argv[2] ?? "plain";
const { FAKE_LOG = "", FAKE_HOOK = "" } = process.env;
const id = "5f0a1b2c-0000-4000-8000-000000000001";
let draft = behaviour === "draft" ? "half typed" : "";
const said: string[] = [];
let isModal = behaviour === "modal";
/** "queue": the prompt that it works on, until a line `done`, and those that wait for it. */
let isBusy = false;
const waiting: string[] = [];

const hook = (event: string, payload: object): void => {
  if (FAKE_HOOK === "" || behaviour === "silent") return;
  Bun.spawnSync(["sh", "-c", `${FAKE_HOOK} ${event}`], {
    stdin: Buffer.from(JSON.stringify({ session_id: id, ...payload })),
  });
};

function draw(): void {
  const lines = draft.split("\n");
  const box = isModal
    ? ["Allow rm -rf?", "> 1. Yes", "  2. No"]
    : [`> ${lines[0]}`, ...lines.slice(1).map((line) => `  ${line}`)];
  const above = [...said.slice(-4), "────────"];
  const hint = draft === "" && !isModal ? "\x1b[2mType here\x1b[22m" : "";
  process.stdout.write(`\x1b[H\x1b[J${[...above, ...box].join("\r\n")}\x1b7${hint}\r\n────────\x1b8`);
}

function submit(): void {
  if (isModal) {
    appendFileSync(FAKE_LOG, `${JSON.stringify("APPROVED")}\n`);
    isModal = false;
  } else if (behaviour === "swallow") return;
  else if (behaviour === "newline") draft += "\n";
  else if (behaviour === "dies") process.exit(1);
  else if (behaviour === "queue" && isBusy) {
    waiting.push(draft);
    said.push(`queued: ${draft}`);
    draft = "";
  } else {
    appendFileSync(FAKE_LOG, `${JSON.stringify(draft)}\n`);
    const prompt = draft;
    said.push(`* ${prompt.split("\n")[0]}`);
    draft = "";
    draw();
    if (behaviour === "asks") hook("Notification", { notification_type: "permission_prompt", message: "may I?" });
    else hook("UserPromptSubmit", { prompt });
    if (behaviour === "asks") return;
    if (behaviour === "queue" && waiting.length === 0 && prompt === "long work") {
      isBusy = true;
      // Its work ends once another prompt waits.
      const work = setInterval(() => {
        const next = waiting[0];
        if (next === undefined) return;
        clearInterval(work);
        isBusy = false;
        hook("Stop", { last_assistant_message: "did the long work" });
        appendFileSync(FAKE_LOG, `${JSON.stringify(next)}\n`);
        hook("UserPromptSubmit", { prompt: next });
        setTimeout(() => hook("Stop", { last_assistant_message: `did: ${next}` }), 100);
      }, 50);
      return;
    }
    setTimeout(() => hook("Stop", { last_assistant_message: `did: ${prompt.slice(0, 20)}` }), 100);
  }
}

process.stdin.setRawMode(true);
process.stdout.write("\x1b[?2004h");
hook("SessionStart", {});
draw();
let input = "";
process.stdin.on("data", async (bytes) => {
  if (behaviour === "slow") await Bun.sleep(700);
  input += bytes.toString();
  for (;;) {
    const paste = /^\x1b\[200~([\s\S]*?)\x1b\[201~/.exec(input);
    if (paste !== null) {
      if (!isModal) draft += (paste[1] ?? "").replaceAll("\r", "\n");
      input = input.slice(paste[0].length);
    } else if (input === "" || input.startsWith("\x1b[200~")) break;
    else {
      if (input.startsWith("\r")) submit();
      else if (input.startsWith("\x15")) draft = "";
      else if (!isModal) draft += input[0];
      input = input.slice(1);
    }
  }
  draw();
});
