/**
 * Commands that show something to a person and wait for a choice: questions, menus, messages. They run on behalf of
 * their caller.
 */
import type { OperationInput } from "../../operations/table.ts";
import { TmuxError } from "../error.ts";
import { placeOf, type Session } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { clientFor, terminalFor } from "./client-list.ts";
import { type Command, command, wholeNumber } from "./command.ts";
import { checkText, runText } from "./shell.ts";

/** Time after which an open question counts as dismissed, in ms. */
const PATIENCE_MS = 300_000;
/** Maximum answers retained per type of prompt. */
const MOST_ANSWERS = 100;
const promptTypes = ["command", "search", "target", "window-target"] as const;

export const askingCommands: readonly Command[] = [
  command("confirm-before confirm", "bc:p:t:y", [1, 1], "[-b] [-p prompt] [-t target-client] command", confirm),
  command(
    "command-prompt",
    "1bFkI:Np:t:T:",
    [0, 1],
    "[-1bFkN] [-I inputs] [-p prompts] [-t target-client] [-T type] [template]",
    prompt,
  ),
  command(
    "display-menu menu",
    "b:c:C:H:MOs:S:t:T:x:y:",
    [1, null],
    "[-O] [-c target-client] [-t target-pane] [-T title] [-x position] [-y position] name key command ...",
    menu,
  ),
  command(
    "display-panes displayp",
    "bd:Nt:",
    [0, 1],
    "[-bN] [-d duration] [-t target-client] [template]",
    async (run, args) => {
      const { current } = await terminalFor(run, args.get("t"));
      const template = args.word(0) ?? "select-pane -t '%%'";
      const items = current.panes.map(
        ({ index, id, info }) => [`${index}: ${info.title || info.command}`, id] as const,
      );
      await offer(run, args.get("t"), "", items, template, args.has("b"));
    },
  ),
  command("show-messages showmsgs", "JTt:", [0, 0], "[-JT] [-t target-client]", async (run, args) => {
    await clientFor(run, args.get("t"));
    const { state } = await run.load();
    if (args.has("J") || args.has("T")) return;
    for (const message of state.messages.toReversed()) await run.print(message);
  }),
  command("show-prompt-history showphist", "T:", [0, 0], "[-T type]", async (run, args) => {
    const { state } = await run.load();
    for (const type of typesOf(args)) {
      await run.print(`History for ${type}:\n`);
      for (const [i, answer] of (state.prompts[type] ?? []).entries()) await run.print(`${i + 1}: ${answer}`);
      await run.print("");
    }
  }),
  command("clear-prompt-history clearphist", "T:", [0, 0], "[-T type]", async (run, args) => {
    const cleared = typesOf(args);
    await run.change((state) => {
      for (const type of cleared) delete state.prompts[type];
    });
  }),
];

/** @throws TmuxError `invalid type: x` */
function typesOf(args: Arguments): readonly string[] {
  const type = args.get("T");
  if (type === undefined) return promptTypes;
  if (!promptTypes.some((each) => each === type)) throw new TmuxError(`invalid type: ${type}`);
  return [type];
}

/** @returns the answer; null: the person gave none */
async function askPerson(
  run: Run,
  session: Session,
  question: OperationInput<"ask">,
): Promise<string | boolean | null> {
  const times = { timeout_ms: PATIENCE_MS, max_wait_ms: PATIENCE_MS };
  const { state, answer } = await run.backend.call("ask", { ...question, ...times }, session.target);
  return state === "answered" && answer !== undefined && !Array.isArray(answer) ? answer : null;
}

/** Runs the same command in the background. */
function inBackground(run: Run, words: readonly string[]): void {
  // A `;` at the end of a word would separate commands.
  const line = words.map((word) => (word.endsWith(";") ? `${word.slice(0, -1)}\\;` : word));
  run.backend.spawn(`${run.backend.self} ${run.backend.shellText(line)}`);
}

async function confirm(run: Run, args: Arguments): Promise<void> {
  const session = await terminalFor(run, args.get("t"));
  const text = args.word(0) ?? "";
  await checkText(run, text);
  if (args.has("b"))
    return inBackground(run, ["confirm-before", ...flagsOf(args, "cpt"), ...switchesOf(args, "y"), text]);
  const key = args.get("c");
  if (key !== undefined && !/^[!-~]$/.test(key)) throw new TmuxError("invalid confirm key");
  const usual = `Confirm '${text.trim().split(/\s/)[0]}'?`;
  const question = await run.format(args.get("p") ?? usual, placeOf(session));
  // The person types the key that confirms.
  const answer =
    key === undefined
      ? await askPerson(run, session, { question, kind: "confirm", default: args.has("y") })
      : await askPerson(run, session, {
          question: `${question} (${key})`,
          kind: "text",
          ...(args.has("y") ? { default: key } : {}),
        });
  if (answer !== true && (key === undefined || answer !== key)) run.status = 1;
  else await runText(run, text, placeOf(session));
}

async function prompt(run: Run, args: Arguments): Promise<void> {
  const session = await terminalFor(run, args.get("t"));
  const [type = "command"] = typesOf(args);
  const template = args.word(0);
  if (args.has("b")) {
    const words = template === undefined ? [] : [template];
    return inBackground(run, ["command-prompt", ...flagsOf(args, "IptT"), ...switchesOf(args, "1FkN"), ...words]);
  }
  const prompts = args.get("p")?.split(",") ?? [template === undefined ? ":" : `(${template})`];
  const inputs = args.get("I")?.split(",") ?? [];
  let text = template ?? "%1";
  if (args.has("F")) text = await run.format(text, placeOf(session));
  for (const [i, each] of prompts.entries()) {
    const question = (await run.format(each, placeOf(session))) || ":";
    const prepared = await run.format(inputs[i] ?? "", placeOf(session));
    const answer = await askPerson(run, session, {
      question,
      kind: "text",
      ...(prepared === "" ? {} : { default: prepared }),
    });
    if (typeof answer !== "string") return;
    if (args.has("N") && !/^\d+$/.test(answer)) return;
    text = filled(text, args.has("1") ? answer.slice(0, 1) : answer, i + 1);
    // Messages of a private session are not recorded.
    if (session.info.private !== true)
      await run.change((state) => {
        state.prompts[type] = [...(state.prompts[type] ?? []), answer].slice(-MOST_ANSWERS);
      });
  }
  await runText(run, text, placeOf(session));
}

async function menu(run: Run, args: Arguments): Promise<void> {
  const session = await terminalFor(run, args.get("c"));
  const place = args.has("t") ? await run.place(args, "pane") : placeOf(session);
  const items: (readonly [string, string])[] = [];
  for (let at = 0; at < args.words.length; at += 3) {
    const name = await run.format(args.words[at] ?? "", place);
    if (name === "") {
      // A separator line of the menu.
      at -= 2;
      continue;
    }
    const [key, text] = [args.words[at + 1], args.words[at + 2]];
    if (key === undefined || text === undefined) throw new TmuxError("not enough arguments");
    if (!name.startsWith("-")) items.push([key === "" ? name : `${name} (${key})`, text]);
  }
  const title = await run.format(args.get("T") ?? "", place);
  const first = args.has("C") ? wholeNumber("starting choice", args.get("C") ?? "", 0, items.length - 1) : 0;
  const chosen = await choice(run, session, title, items, first);
  if (chosen !== null) await runText(run, await run.format(chosen, place), place);
}

/** Shows choices to a person, and runs the template with the chosen one. */
export async function offer(
  run: Run,
  client: string | undefined,
  title: string,
  items: readonly (readonly [string, string])[],
  template: string,
  isBeside: boolean,
): Promise<void> {
  const session = await terminalFor(run, client);
  if (items.length === 0) return;
  if (isBeside) {
    const words = items.flatMap(([name, value]) => [escaped(name), "", escaped(filled(template, value, 1))]);
    const to = client === undefined ? [] : ["-c", client];
    return inBackground(run, ["display-menu", ...to, "-T", escaped(title || "wsh"), ...words]);
  }
  const chosen = await choice(run, session, title, items);
  if (chosen !== null) await runText(run, filled(template, chosen, 1), placeOf(session));
}

/** Escapes a text so that formats leave it unchanged. */
function escaped(text: string): string {
  return text.replaceAll("#", "##");
}

async function choice(
  run: Run,
  session: Session,
  title: string,
  items: readonly (readonly [string, string])[],
  first = 0,
): Promise<string | null> {
  const choices = items.map(([name], i) =>
    items.findIndex(([each]) => each === name) === i ? name : `${name} (${i + 1})`,
  );
  if (choices.length === 0) return null;
  const answer = await askPerson(run, session, {
    question: title || "Choose",
    kind: "choice",
    choices,
    default: choices[first] ?? "",
  });
  return items[choices.indexOf(String(answer))]?.[1] ?? null;
}

/** Replaces `%%` and `%N` in a template by the answer; `%%%` inserts it quoted. */
function filled(template: string, answer: string, index: number): string {
  const quoted = answer.replace(/["\\$;~]/g, "\\$&");
  let isDone = false;
  return template.replace(/%(%%?|[1-9]%?)/g, (all, what: string) => {
    const isFirst = what.startsWith("%");
    if (isFirst ? index !== 1 || isDone : Number(what[0]) !== index) return all;
    isDone ||= isFirst;
    return what.length === 2 ? quoted : answer;
  });
}

function flagsOf(args: Arguments, flags: string): string[] {
  return [...flags].flatMap((flag) => args.all(flag).flatMap((value) => [`-${flag}`, value]));
}

function switchesOf(args: Arguments, flags: string): string[] {
  return [...flags].flatMap((flag) => (args.has(flag) ? [`-${flag}`] : []));
}
