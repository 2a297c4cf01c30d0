/** Receipts that were changed, moved or forged are detected; honest ones never are. */
import { expect, test } from "bun:test";
import { PREDICATE_TYPE, type Predicate, STATEMENT_TYPE, subjectsOf } from "../../../src/protocol/receipt.ts";
import { type Claims, check } from "../../../src/receipts/check.ts";
import { seal } from "../../../src/receipts/envelope.ts";
import { makeKey, readKeys } from "../../../src/receipts/keys.ts";
import { seededRandom } from "../../support/terminals/outer-screen.ts";

const LIES = 200;
const HONEST = 1_000;

interface Random {
  below(n: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
}

function seeded(seed: number): Random {
  const next = seededRandom(seed);
  const below = (n: number): number => Math.floor(next() * n);
  return { below, pick: (from) => from[below(from.length)] ?? from[0] };
}

const own = makeKey("dev");
const other = makeKey("dev");
const keys = readKeys(`# ours\n${own.publicKey.line}\n`, "keys");

function honest(random: Random): Predicate {
  const hex = (length: number): string => Array.from({ length }, () => random.below(16).toString(16)).join("");
  const started = 1_700_000_000_000 + random.below(1e9);
  const tree = hex(40);
  const when = (ms: number): string => new Date(started + ms).toISOString();
  return {
    command: random.pick(["make", "bun test", 'printf "é\\n"; exit 0', "a\nb", "'; rm -rf /'"]),
    cwd: random.pick(["/src", "/tmp/ä b", null]),
    state: "finished",
    started_at: when(0),
    ended_at: when(random.below(1e6)),
    exit_code: 0,
    signal: null,
    by: { kind: random.pick(["agent", "person"]), name: random.pick(["Claude Code", "wsh"]) },
    verified: true,
    output: { sha256: hex(64), bytes: random.below(1e6), lines: random.below(1e4) },
    git: { before: { tree, at: when(0) }, after: { tree, at: when(5) } },
    session: { name: "dev", pane: "@7", command_id: 7001 + random.below(900), wsh: "0.1.0" },
  };
}

function signed(predicate: Predicate, key = own): string {
  const statement = { _type: STATEMENT_TYPE, subject: subjectsOf(predicate), predicateType: PREDICATE_TYPE, predicate };
  return JSON.stringify(seal(statement as Parameters<typeof seal>[0], key.secret, key.publicKey.id));
}

const claimsOf = ({ command, git }: Predicate): Claims => ({ command: command ?? "", tree: git.after?.tree });

/** Each makes a false receipt, or a false claim of a true one. */
const lies: readonly ((predicate: Predicate, random: Random) => { readonly text: string; readonly claims?: Claims })[] =
  [
    // One byte of the statement is another.
    (predicate, random) => ({
      text: changed(signed(predicate), (envelope) => {
        const payload = Buffer.from(envelope.payload, "base64");
        const at = random.below(payload.length);
        payload[at] = (payload[at] ?? 0) ^ (1 << random.below(8));
        return { ...envelope, payload: payload.toString("base64") };
      }),
    }),
    // One bit of the signature is.
    (predicate, random) => ({
      text: changed(signed(predicate), (envelope) => {
        const sig = Buffer.from(envelope.signatures[0]?.sig ?? "", "base64");
        const at = random.below(sig.length);
        sig[at] = (sig[at] ?? 0) ^ (1 << random.below(8));
        return { ...envelope, signatures: [{ keyid: own.publicKey.id, sig: sig.toString("base64") }] };
      }),
    }),
    // A failure becomes a success, under the old signature.
    (predicate) => ({
      text: changed(signed({ ...predicate, exit_code: 1 }), (envelope) => ({
        ...envelope,
        payload: Buffer.from(
          Buffer.from(envelope.payload, "base64").toString().replace('"exit_code":1', '"exit_code":0'),
        ).toString("base64"),
      })),
    }),
    // Signed by a key of the same name, and then with our key's id.
    (predicate) => ({ text: signed(predicate, other) }),
    (predicate) => ({ text: signed(predicate, { secret: other.secret, publicKey: own.publicKey }) }),
    (predicate) => ({ text: changed(signed(predicate), (envelope) => ({ ...envelope, signatures: [] })) }),
    // True receipts of something else.
    (predicate) => ({ text: signed({ ...predicate, exit_code: 1 }) }),
    (predicate) => ({ text: signed({ ...predicate, exit_code: null, signal: "SIGKILL" }) }),
    (predicate) => ({ text: signed({ ...predicate, state: "lost", exit_code: null }) }),
    (predicate) => ({ text: signed({ ...predicate, verified: false, warnings: ["it may have faked its end"] }) }),
    (predicate) => ({ text: signed({ ...predicate, command: `${predicate.command} || true` }) }),
    (predicate) => ({ text: signed(predicate), claims: { ...claimsOf(predicate), tree: "0".repeat(40) } }),
    (predicate) => ({ text: signed(predicate), claims: { ...claimsOf(predicate), output: "all tests pass\n" } }),
    // The files were put in place only after the tests.
    (predicate) => ({
      text: signed({
        ...predicate,
        git: { ...predicate.git, before: { tree: "1".repeat(40), at: predicate.started_at } },
      }),
    }),
    (predicate) => ({ text: signed({ ...predicate, git: { ...predicate.git, before: null, missing: "off" } }) }),
    // Cut, doubled, or in another form.
    (predicate, random) => {
      const text = signed(predicate);
      return { text: text.slice(0, random.below(text.length)) };
    },
    (predicate) => ({ text: signed(predicate).repeat(2) }),
    (predicate) => ({
      text: changed(signed(predicate), (envelope) => ({ ...envelope, payloadType: "application/json" })),
    }),
    (predicate) => ({
      text: changed(signed(predicate), (envelope) => ({ ...envelope, payload: ` ${envelope.payload}` })),
    }),
    (predicate) => ({ text: changed(signed(predicate), (envelope) => ({ ...envelope, note: "good" })) }),
  ];

interface Loose {
  readonly payload: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
}

function changed(text: string, change: (envelope: Loose) => object): string {
  return JSON.stringify(change(JSON.parse(text) as Loose));
}

test(`${LIES} lies are all caught`, () => {
  const random = seeded(40);
  for (let n = 0; n < LIES; n++) {
    const predicate = honest(random);
    const lie = lies[n % lies.length]?.(predicate, random);
    if (lie === undefined) throw new Error("no lie");
    const { faults } = check(lie.text, keys, lie.claims ?? claimsOf(predicate));
    expect({ n, lie: n % lies.length, caught: faults.length > 0 }).toMatchObject({ caught: true });
  }
});

test(`${HONEST} honest receipts hold, as JSON and as in a trailer`, () => {
  const random = seeded(41);
  for (let n = 0; n < HONEST; n++) {
    const predicate = honest(random);
    const text = signed(predicate);
    const given = n % 2 === 0 ? text : Buffer.from(text).toString("base64url");
    expect(check(given, keys, claimsOf(predicate)).faults).toEqual([]);
  }
});

test("an invalid key is refused with its position", () => {
  expect(() => readKeys("ssh-rsa AAAA x", "keys")).toThrow("keys, line 1 is not a key");
  expect(() => readKeys("# none\n\n", "keys")).toThrow("keys holds no key");
});
