/** Certificates made with openssl: an authority per test, and certificates that it signs, also with other names and times. */
import fs from "node:fs";
import { join } from "node:path";

export interface Certificate {
  /** Files in PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Wanted {
  /** As openssl writes them: `DNS:localhost`, `IP:127.0.0.1`. */
  readonly names?: string;
  /** Start and end of validity, in days from now. */
  readonly from?: number;
  readonly until?: number;
}

const DAY_MS = 86_400_000;
const HERE = "DNS:localhost,IP:127.0.0.1";

export class Authority {
  /** Its own certificate. */
  readonly ca: string;
  private made = 0;

  /** @param dir existing directory */
  constructor(private readonly dir: string) {
    fs.mkdirSync(dir, { recursive: true });
    this.ca = join(dir, "ca.pem");
    const config = [
      "[ca]\ndefault_ca=own",
      `[own]\ndatabase=${dir}/index\nserial=${dir}/serial\nnew_certs_dir=${dir}\ncertificate=${this.ca}`,
      `private_key=${dir}/ca.key\ndefault_md=default\npolicy=any\nunique_subject=no\ncopy_extensions=copy`,
      "[any]\ncommonName=supplied",
    ];
    fs.writeFileSync(join(dir, "ca.conf"), `${config.join("\n")}\n`);
    fs.writeFileSync(join(dir, "index"), "");
    fs.writeFileSync(join(dir, "serial"), "01\n");
    const own = ["-x509", "-days", "3650", "-subj", "/CN=an authority of a test", "-out", this.ca];
    openssl("req", ...own, "-newkey", "ed25519", "-nodes", "-keyout", join(dir, "ca.key"));
  }

  sign({ names = HERE, from = -1, until = 365 }: Wanted = {}): Certificate {
    const base = join(this.dir, `signed${this.made++}`);
    const files = { cert: `${base}.pem`, key: `${base}.key` };
    const subject = ["-subj", "/CN=a server of a test", "-addext", `subjectAltName=${names}`];
    openssl("req", "-newkey", "ed25519", "-nodes", "-keyout", files.key, "-out", `${base}.csr`, ...subject);
    const at = (days: number): string =>
      `${new Date(Date.now() + days * DAY_MS).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
    const signed = ["-in", `${base}.csr`, "-out", files.cert, "-startdate", at(from), "-enddate", at(until)];
    openssl("ca", "-config", join(this.dir, "ca.conf"), "-batch", "-notext", ...signed);
    return files;
  }
}

function openssl(...args: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync(["openssl", ...args]);
  if (!success) throw new Error(`openssl ${args.join(" ")}: ${stderr.toString()}`);
}
