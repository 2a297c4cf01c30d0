/**
 * The paste buffers that a session sees: texts copied in copy mode, by programs (OSC 52), and over the API.
 * All sessions of an instance share them, in files. Copies in a private session stay in its memory, and only
 * it sees them; it reads the shared ones, and changes none of them. At the limits, the oldest buffers are
 * removed first: those of AI agents before all others, and those without a given name before named ones. An
 * agent's new buffer removes that agent's own, and next those of other agents, whose names cost nothing, but
 * no one else's: if none of these exist, it exceeds the limits.
 */
import type { BufferFiles, BufferHead, StoredBuffer } from "../instance/buffer-files.ts";
import type { Caller } from "../protocol/caller.ts";
import { WshError } from "../protocol/errors.ts";
import type { ClipboardCopy } from "../protocol/frame.ts";
import { agentOfCaller, isSameOwner, type Owner } from "../protocol/owner.ts";
import { MAX_BUFFER_BYTES, MAX_BUFFERS, MAX_PASTE_BYTES, type PasteBuffer } from "../protocol/paste.ts";
import { plural } from "../protocol/plural.ts";

const NOTHING_COPIED = "nothing has been copied yet";
const NAMED_ONLY = "every paste buffer has a name of its own: choose one by its name";
const AGENTS_ONLY = "only AI agents have made paste buffers: choose one by its name";
/** Characters of a buffer that lists show. */
const EXCERPT_LENGTH = 80;

type BufferEntry = StoredBuffer & { readonly text?: string };

interface NewBuffer {
  readonly text: string;
  /** The buffer of this name is replaced; absent: an automatic name. */
  readonly name?: string | undefined;
  /** Whether to append the text to the named buffer. */
  readonly append?: boolean | undefined;
  readonly owner?: Owner | undefined;
}

/** The notice after a copy: characters of a single line, else the number of lines. */
export function describeCopy(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n").length;
  const [count, unit] = lines === 1 ? [Array.from(text).length, "character"] : [lines, "line"];
  return `copied ${plural(count, unit)}`;
}

export class PasteBuffers {
  /** Buffers of a private session, newest first. */
  private privateBuffers: (BufferEntry & { readonly text: string })[] = [];
  private lastPrivateNumber = 0;

  /** @param files null: buffers are not shared */
  constructor(
    private readonly files: BufferFiles | null,
    private readonly isPrivate: () => boolean,
  ) {}

  /** The reason for a missing newest copy. */
  private get absence(): string {
    const all = this.entries();
    if (all.length === 0) return NOTHING_COPIED;
    return all.some(({ name }) => name === null) ? AGENTS_ONLY : NAMED_ONLY;
  }

  /** The name of the newest copy of this caller, as `get` chooses it. */
  newestName(by: Caller): string | undefined {
    const newest = this.findEntry(undefined, by);
    return newest === undefined ? undefined : nameOf(newest);
  }

  /** Stores a text; without a name, a text equal to the newest is not added. @throws WshError payload_too_large */
  set({ text: added, name, append, owner }: NewBuffer): PasteBuffer {
    const before = this.entries();
    const old = append === true && name !== undefined ? before.find((each) => nameOf(each) === name) : undefined;
    const text = (old === undefined ? "" : (this.textOf(old) ?? "")) + added;
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_PASTE_BYTES) {
      throw new WshError(
        "payload_too_large",
        `the text has ${bytes} bytes; a paste buffer holds at most ${MAX_PASTE_BYTES}`,
      );
    }
    const [newest] = before;
    const isNewest = newest?.name === null && isAgents(newest) === (owner?.kind === "agent");
    if (name === undefined && isNewest && newest.bytes === bytes && this.textOf(newest) === text)
      return summarise(newest);
    const replaced = name === undefined ? [] : this.changeableNamed(name);
    const made = this.store({ name: name ?? null, bytes, at: Date.now(), owner: owner ?? null }, text, before);
    for (const each of replaced) this.drop(each);
    for (const excess of entriesToEvict(this.changeableEntries(), made)) this.drop(excess);
    return summarise(made);
  }

  /**
   * Stores a text that a program, or the user of a terminal, has copied. Ignores an empty or overlong text,
   * and any text while nothing can be written.
   */
  storeCopy({ base64, agent }: ClipboardCopy): void {
    const text = Buffer.from(base64, "base64").toString();
    if (text === "") return;
    try {
      this.set({ text, ...(agent === undefined ? {} : { owner: { kind: "agent", name: agent } }) });
    } catch {}
  }

  list(): PasteBuffer[] {
    return this.entries().map(summarise);
  }

  /**
   * @param name absent: the newest copy without a given name; for callers other than AI agents, the newest that no AI
   *   agent made, since an agent could otherwise choose the text that a person pastes, prints or deletes next
   * @throws WshError buffer_not_found
   */
  get(name: string | undefined, by: Caller): PasteBuffer & { readonly text: string } {
    const buffer = this.requireEntry(name, by);
    const text = this.textOf(buffer);
    if (text === null) throw this.notFound(name);
    return { ...summarise(buffer), text };
  }

  /** The owner of a buffer; null: a copy without a recorded owner; undefined: the buffer does not exist. */
  ownerOf(name: string | undefined, by: Caller): Owner | null | undefined {
    return this.findEntry(name, by)?.owner;
  }

  /** @throws WshError buffer_not_found if the session may not change it */
  requireChangeable(name: string, by: Caller): void {
    this.requireChangeableEntry(name, by);
  }

  /** Replaces another buffer with the new name. @throws WshError buffer_not_found */
  rename(name: string | undefined, to: string, by: Caller): PasteBuffer {
    const buffer = this.requireChangeableEntry(name, by);
    for (const other of this.changeableNamed(to)) if (!isSame(other, buffer)) this.drop(other);
    const { bytes, at, owner } = buffer;
    const head: BufferHead = { name: to, bytes, at, owner };
    if (buffer.text === undefined) {
      if (this.files?.describe(buffer.number, head) !== true) throw this.notFound(name);
    } else this.privateBuffers = this.privateBuffers.map((each) => (each === buffer ? { ...each, ...head } : each));
    return summarise({ ...buffer, ...head });
  }

  /** @throws WshError buffer_not_found */
  remove(name: string | undefined, by: Caller): PasteBuffer {
    const buffer = this.requireChangeableEntry(name, by);
    this.drop(buffer);
    return summarise(buffer);
  }

  /** @returns the newest @throws WshError buffer_not_found */
  clear(): PasteBuffer {
    const [newest, ...rest] = this.changeableEntries();
    if (newest === undefined) throw new WshError("buffer_not_found", NOTHING_COPIED);
    for (const each of [newest, ...rest]) this.drop(each);
    return summarise(newest);
  }

  private findEntry(name: string | undefined, by: Caller): BufferEntry | undefined {
    if (name !== undefined) return this.entries().find((each) => nameOf(each) === name);
    const isAgent = agentOfCaller(by) !== null;
    return this.entries().find((each) => each.name === null && (isAgent || !isAgents(each)));
  }

  private requireEntry(name: string | undefined, by: Caller): BufferEntry {
    const buffer = this.findEntry(name, by);
    if (buffer !== undefined) return buffer;
    throw this.notFound(name);
  }

  /** @throws WshError buffer_not_found, also for a buffer that others share with a private session */
  private requireChangeableEntry(name: string | undefined, by: Caller): BufferEntry {
    const buffer = this.requireEntry(name, by);
    if (this.isChangeable(buffer)) return buffer;
    throw new WshError(
      "buffer_not_found",
      `all sessions share paste buffer '${nameOf(buffer)}': a private one does not change it`,
      {
        hint: "Use a session that is not private, or: wsh buffer.",
      },
    );
  }

  /** Newest first; one of this session's conceals a shared one of its name. */
  private entries(): BufferEntry[] {
    const shared = this.files?.list() ?? [];
    if (this.privateBuffers.length === 0) return shared;
    const names = new Set(this.privateBuffers.map(nameOf));
    const seen = shared.filter((each) => !names.has(nameOf(each)));
    return [...this.privateBuffers, ...seen].sort((a, b) => b.at - a.at);
  }

  private changeableEntries(): BufferEntry[] {
    return this.entries().filter((each) => this.isChangeable(each));
  }

  private isChangeable({ text }: BufferEntry): boolean {
    return text !== undefined || !this.isPrivate();
  }

  private changeableNamed(name: string): BufferEntry[] {
    const all = [...this.privateBuffers, ...(this.files?.list() ?? [])];
    return all.filter((each) => nameOf(each) === name && this.isChangeable(each));
  }

  private store(head: BufferHead, text: string, before: readonly BufferEntry[]): BufferEntry {
    const begins = text.slice(0, EXCERPT_LENGTH);
    if (this.files !== null && !this.isPrivate()) {
      const taken = new Set(before.map(({ name }) => name));
      return { ...head, begins, number: this.files.add(head, text, (number) => taken.has(automaticName(number))) };
    }
    const made = { ...head, begins, text, number: ++this.lastPrivateNumber };
    this.privateBuffers = [made, ...this.privateBuffers];
    return made;
  }

  private textOf({ text, number }: BufferEntry): string | null {
    return text ?? this.files?.text(number) ?? null;
  }

  private notFound(name: string | undefined): WshError {
    return new WshError("buffer_not_found", name === undefined ? this.absence : `no paste buffer '${name}'`);
  }

  private drop(entry: BufferEntry): void {
    if (entry.text === undefined) this.files?.remove(entry.number);
    else this.privateBuffers = this.privateBuffers.filter((each) => !isSame(each, entry));
  }
}

/** @param entries newest first @param made the new buffer, which is kept */
function entriesToEvict(entries: readonly BufferEntry[], made: BufferEntry): BufferEntry[] {
  const isMakers = ({ owner }: BufferEntry): boolean =>
    owner !== null && made.owner !== null && isSameOwner(owner, made.owner);
  const first = (each: BufferEntry): number => (!isAgents(each) ? 4 : !isAgents(made) || isMakers(each) ? 0 : 2);
  const rank = (each: BufferEntry): number => first(each) + (each.name === null ? 0 : 1);
  const oldest = entries.toReversed().filter((each) => !isAgents(made) || isAgents(each));
  const order = oldest.toSorted((one, other) => rank(one) - rank(other));
  let count = entries.length;
  let bytes = entries.reduce((sum, each) => sum + each.bytes, 0);
  return order.filter((each) => {
    if ((count <= MAX_BUFFERS && bytes <= MAX_BUFFER_BYTES) || isSame(each, made)) return false;
    count--;
    bytes -= each.bytes;
    return true;
  });
}

function isAgents({ owner }: BufferEntry): boolean {
  return owner?.kind === "agent";
}

function isSame(one: BufferEntry, other: BufferEntry): boolean {
  return one.number === other.number && (one.text === undefined) === (other.text === undefined);
}

function automaticName(number: number): string {
  return `buffer${number}`;
}

function nameOf({ name, number, text }: BufferEntry): string {
  return name ?? (text === undefined ? automaticName(number) : `private${number}`);
}

function summarise(entry: BufferEntry): PasteBuffer {
  const { bytes, at, begins } = entry;
  return { name: nameOf(entry), bytes, at, begins: begins.slice(0, EXCERPT_LENGTH) };
}
