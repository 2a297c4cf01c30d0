/**
 * Witnesses facts about a pane's commands that their records lack, and signs receipts of them (docs/receipts.md):
 * who typed a command, the files of its repository before and after, a digest of its output.
 *
 * Invariants: the key is created with the first receipt and exists only in memory, which is hidden from other
 * processes first. A fact that was not witnessed is missing, with the reason, and is never added later: the tree
 * before a command is recorded only while exec holds the prompt.
 */
import type { ChildShell } from "../pane/commands/child-shells.ts";
import type { Pane } from "../pane/pane.ts";
import { seesOurFiles } from "../platform/file-view.ts";
import { hideMemory } from "../platform/undumpable.ts";
import type { CommandRecord } from "../protocol/commands.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import type { Owner } from "../protocol/owner.ts";
import {
  type Envelope,
  PREDICATE_TYPE,
  type Predicate,
  type ReceiptKey,
  STATEMENT_TYPE,
  type Statement,
  subjectsOf,
} from "../protocol/receipt.ts";
import { VERSION } from "../protocol/version.ts";
import type { Tree } from "../receipts/git-tree.ts";
import type { Settings } from "../settings/table.ts";

/** Number of the newest commands whose facts are kept. */
const MAX_WITNESSED = 1_000;

const unknownWriter: Owner = { kind: "program", name: "a caller" };
const TREES_NOT_RECORDED = "trees are recorded with the setting receipt_trees = true";
const NOT_SENT_BY_EXEC = "the tree before a command is recorded only if exec sends it";

interface WitnessedCommand {
  readonly writer: Owner;
  readonly offeredBy: Owner | undefined;
  readonly before: Tree;
  after: Tree;
  output: Pick<Predicate, "output" | "no_output"> | null;
  /** Resolves when `after` and `output` are known. */
  settled: Promise<void>;
}

interface WitnessPort {
  readonly pane: Pane;
  readonly settings: Pick<Settings, "receipt_trees">;
  /** The pane's owner. */
  readonly owner: Owner | undefined;
}

const witnesses = new WeakMap<Pane, Witness>();

export function witnessOf(pane: Pane): Witness | null {
  return witnesses.get(pane) ?? null;
}

export class Witness implements Disposable {
  private readonly witnessed = new Map<number, WitnessedCommand>();
  private readonly listener: Disposable;
  /** The command that exec is about to type. */
  private nextTyped: { readonly by: Owner; readonly before: Tree } | null = null;
  /** The line that an agent has put at the prompt since the last command. */
  private offeredLine: { readonly line: string; readonly by: Owner } | null = null;

  constructor(private readonly port: WitnessPort) {
    const { log } = port.pane.commands;
    witnesses.set(port.pane, this);
    this.listener = log.on({
      started: ({ id }) => this.commandStarted(id),
      finished: (record) => this.commandFinished(record),
    });
    for (const record of log.list()) if (record.state === "running") this.commandStarted(record.id);
  }

  [Symbol.dispose](): void {
    this.listener[Symbol.dispose]();
  }

  /** Records the tree while exec holds the prompt. Exec types when this resolves; null: at once. */
  beforeTyping(by: Owner): Promise<void> | null {
    if (!this.port.settings.receipt_trees) {
      this.nextTyped = { by, before: { missing: TREES_NOT_RECORDED } };
      return null;
    }
    return this.whenSettled().then(async () => {
      this.nextTyped = {
        by,
        before: await this.recordTree(this.port.pane.commands.cwd(), this.port.pane.commands.child),
      };
    });
  }

  /** Notes a line that an agent has put at the prompt and that a person may run. */
  noteOfferedLine(line: string, by: Owner): void {
    this.offeredLine = { line, by };
  }

  /** Resolves when all facts about ended commands are known. */
  async whenSettled(): Promise<void> {
    for (const { settled } of [...this.witnessed.values()]) await settled;
  }

  /** @throws WshError command_not_found, invalid_cursor, invalid_request: it runs, or ran before a restore */
  async receipt(id: number, session: string): Promise<Envelope> {
    const { pane } = this.port;
    const { log } = pane.commands;
    const record = log.require(id);
    const facts = this.witnessed.get(id);
    if (record.state === "running")
      throw new WshError("invalid_request", `command ${id} still runs`, { hint: "Wait for its end first: wsh wait" });
    if (facts === undefined) {
      throw new WshError("invalid_request", `this process has not seen command ${id} from start to end`, {
        hint: "It ran before the session was restored, or newer commands replaced it. Run it again for a receipt.",
      });
    }
    await facts.settled;
    const source = { name: session, pane: pane.id, command_id: id, wsh: VERSION };
    const predicate: Predicate = { ...this.predicate(record, facts), session: source };
    const subject = subjectsOf(predicate);
    const statement: Statement = { _type: STATEMENT_TYPE, subject, predicateType: PREDICATE_TYPE, predicate };
    const { secret, publicKey } = await processKey();
    const { seal } = await import("../receipts/envelope.ts");
    return seal(statement, secret, publicKey.id);
  }

  private predicate(
    record: CommandRecord,
    { writer, offeredBy, before, after, output }: WitnessedCommand,
  ): Omit<Predicate, "session"> {
    const { command, cwd, state, started_at, ended_at, exit_code, signal, verified, warnings } = record;
    const digest = output ?? this.digestOutput(record.id);
    const missing = [before, after].flatMap((tree) => ("missing" in tree ? [tree.missing] : []));
    return {
      command,
      cwd,
      state: state as Predicate["state"],
      started_at: new Date(started_at).toISOString(),
      ended_at: ended_at === null ? null : new Date(ended_at).toISOString(),
      exit_code,
      signal,
      by: writer,
      ...defined({ offered_by: offeredBy }),
      verified,
      ...defined({ warnings }),
      ...digest,
      git: {
        before: "tree" in before ? before : null,
        after: "tree" in after ? after : null,
        ...(missing.length === 0 ? {} : { missing: [...new Set(missing)].join("; ") }),
      },
    };
  }

  private commandStarted(id: number): void {
    const { pane, settings } = this.port;
    const { sent } = pane.commands.log.origin(id) ?? { sent: null };
    const { nextTyped, offeredLine } = this;
    this.nextTyped = null;
    this.offeredLine = null;
    const isSent = sent !== null && nextTyped !== null;
    const missing = { missing: settings.receipt_trees ? NOT_SENT_BY_EXEC : TREES_NOT_RECORDED };
    const [writer, before] = isSent
      ? [nextTyped.by, nextTyped.before]
      : [pane.writer.current ?? unknownWriter, missing];
    // A person may add to the line before running it.
    const isOffered =
      !isSent && offeredLine !== null && pane.commands.log.get(id)?.command?.includes(offeredLine.line) === true;
    const offeredBy = isOffered ? offeredLine.by : undefined;
    this.witnessed.set(id, { writer, offeredBy, before, after: missing, output: null, settled: Promise.resolve() });
    for (const old of this.witnessed.keys()) {
      if (this.witnessed.size <= MAX_WITNESSED) break;
      this.witnessed.delete(old);
    }
  }

  private commandFinished({ id, cwd }: CommandRecord): void {
    const facts = this.witnessed.get(id);
    if (facts === undefined || !this.port.settings.receipt_trees) return;
    facts.output = this.digestOutput(id);
    facts.settled = this.recordTree(cwd, this.port.pane.commands.log.origin(id)?.shell ?? null).then((tree) => {
      facts.after = tree;
    });
  }

  /** @param shell the inner shell that runs the command; a remote one names directories of its own machine */
  private async recordTree(cwd: string | null, shell: ChildShell | null): Promise<Tree> {
    if (shell !== null && shell.pid === null) return { missing: "the command ran on another machine" };
    const pid = shell?.pid ?? this.port.pane.pid;
    const seesSameFiles = pid === null ? true : seesOurFiles(pid);
    if (seesSameFiles === false) return { missing: "the command ran in a container, which has other files" };
    if (seesSameFiles === null) return { missing: "the files of the command are unknown: its shell is another user's" };
    const { gitTree } = await import("../receipts/git-tree.ts");
    const { owner } = this.port;
    return gitTree(cwd, owner?.kind === "agent" ? owner.name : undefined);
  }

  /** The digest of a command's output, line by line in printed form. */
  private digestOutput(id: number): Pick<Predicate, "output" | "no_output"> {
    using storedOutput = this.port.pane.commands.log.storedOutput(id);
    if (storedOutput === null) return { output: null, no_output: "it is not kept" };
    const wholeRange = { from: 1, to: storedOutput.totalLines };
    const missing = storedOutput.missingIn(wholeRange);
    if (missing !== null)
      return { output: null, no_output: `only ${missing.searched} lines are kept: ${missing.reason}` };
    const hash = new Bun.CryptoHasher("sha256");
    let bytes = 0;
    for (const { lines } of storedOutput.readRange(wholeRange)) {
      const text = lines.map((line) => `${line}\n`).join("");
      hash.update(text);
      bytes += Buffer.byteLength(text);
    }
    return { output: { sha256: hash.digest("hex"), bytes, lines: storedOutput.totalLines } };
  }
}

type ProcessKey = ReturnType<typeof import("../receipts/keys.ts").makeKey>;
let pendingKey: Promise<ProcessKey> | null = null;

/** The key of this process. */
function processKey(): Promise<ProcessKey> {
  pendingKey ??= import("../receipts/keys.ts").then(({ makeKey }) => {
    hideMemory();
    return makeKey("wsh");
  });
  return pendingKey;
}

/** @throws WshError like Witness.receipt */
export async function receiptOf(pane: Pane, id: number, session: string): Promise<Envelope> {
  pane.commands.log.require(id);
  const witness = witnessOf(pane);
  if (witness === null) throw new WshError("invalid_request", "the session has ended");
  return await witness.receipt(id, session);
}

export async function receiptKey(): Promise<ReceiptKey> {
  const { publicKey } = await processKey();
  return { public_key: publicKey.line, keyid: publicKey.id };
}
