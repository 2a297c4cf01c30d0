/**
 * Renews the certificates of a fleet's servers. The authority keeps its key and name, so members who joined earlier
 * accept the new certificates. Its own certificate is signed again if it would expire before them.
 */
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { checkOwnFile } from "../../instance/owned-files.ts";
import { WshError } from "../../protocol/errors.ts";
import { writeSecret } from "../fleet/creds-file.ts";
import { authorityNameOf, type Certified, makeAuthority, makeServerCertificate } from "./certificate.ts";
import { changeFleet, hostsOf, readFleet, serverDirectory } from "./directory.ts";
import { serverFiles } from "./server-config.ts";

interface Renewal {
  /** Directories whose `tls/` has changed. */
  readonly servers: readonly string[];
  /** Unix time in ms at which the new certificates end. */
  readonly endsAt: number;
}

/** @throws WshError invalid_request for a fleet that has no authority of its own */
export function renewCertificates(dir: string): Promise<Renewal> {
  return changeFleet(dir, async (fleet) => {
    const before = readAuthority(dir);
    const name = authorityNameOf(fleet.name);
    const fresh = makeServerCertificate(before, name, ["localhost"]);
    const isShort = endOf(before.certificate) < endOf(fresh.certificate);
    const authority = isShort ? makeAuthority(name, before.key) : before;
    if (isShort) writeSecret(join(dir, "keys/ca.pem"), authority.certificate);
    // Servers with a certificate from elsewhere trust each other by the fleet's own.
    const isOwn = fleet.ca === before.certificate;
    const servers = fleet.hosts.map((host, index) => {
      const server = join(dir, serverDirectory(index));
      const { certificate, key } = makeServerCertificate(authority, name, hostsOf(host));
      const isPeer = fleet.hosts.length > 1;
      if (isOwn) writeFiles(server, { [serverFiles.certificate]: certificate, [serverFiles.key]: key });
      if (isPeer) {
        const peer = { [serverFiles.peerCertificate]: certificate, [serverFiles.peerKey]: key };
        writeFiles(server, { ...peer, [serverFiles.authority]: authority.certificate });
      }
      return server;
    });
    const ca = isOwn ? authority.certificate : fleet.ca;
    return { fleet: { ...fleet, ca }, result: { servers, endsAt: endOf(fresh.certificate) } };
  });
}

/** When the first of the servers' certificates expires, as Unix time in ms; null: none can be read. */
export function certificatesEndAt(dir: string): number | null {
  const ends = readFleet(dir).hosts.flatMap((_, index) =>
    [serverFiles.certificate, serverFiles.peerCertificate].flatMap((file) => {
      const path = join(dir, serverDirectory(index), file);
      return fs.existsSync(path) ? endOf(fs.readFileSync(path, "utf8")) : [];
    }),
  );
  return ends.length === 0 ? null : Math.min(...ends);
}

function readAuthority(dir: string): Certified {
  const [key = "", certificate = ""] = ["ca.key", "ca.pem"].map((file) => {
    const path = join(dir, "keys", file);
    return checkOwnFile(path) ? fs.readFileSync(path, "utf8") : "";
  });
  if (key !== "" && certificate !== "") return { key, certificate };
  throw new WshError("invalid_request", `the fleet in ${dir} has no authority of its own`, {
    hint: "Replace the certificate in tls/ of each server with yours, and reload nats-server.",
  });
}

function writeFiles(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) writeSecret(join(directory, file), text);
}

function endOf(certificate: string): number {
  return new Date(new X509Certificate(certificate).validTo).getTime();
}
