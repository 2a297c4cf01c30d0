/**
 * The configuration of a fleet's nats-servers. Each listens with TLS alone and admits only users that a key of the
 * fleet has signed. Paths are relative to the directory of the file, in which nats-server is started: the directory can
 * be copied unchanged to the server's machine. Pure.
 */
import { isIP } from "node:net";

interface ServerConfig {
  readonly fleet: string;
  /** Name of this server, and of the cluster. */
  readonly name: string;
  readonly host: string;
  readonly cluster: readonly string[];
  readonly port: number;
  readonly wssPort: number;
  readonly clusterPort: number;
  readonly systemAccount: string;
  readonly systemJwt: string;
}

/** Names of the files beside the configuration. */
export const serverFiles = {
  config: "nats-server.conf",
  operator: "operator.jwt",
  accounts: "accounts",
  jetstream: "jetstream",
  certificate: "tls/server.pem",
  key: "tls/server.key",
  authority: "tls/ca.pem",
  peerCertificate: "tls/peer.pem",
  peerKey: "tls/peer.key",
} as const;

export function serverConfig(config: ServerConfig): string {
  const { fleet, name, port, wssPort, systemAccount, systemJwt } = config;
  const address = listenAddress(config.host);
  const { certificate, key } = serverFiles;
  const tls = `tls { cert_file: "${certificate}", key_file: "${key}", timeout: 5 }`;
  return `# nats-server of the wsh fleet '${fleet}'. Start it in this directory: nats-server -c ${serverFiles.config}
# Every connection takes TLS and credentials that a key of the fleet has signed; there is no other way in.
server_name: "${name}"
listen: "${address}:${port}"
${tls}

# For machines that get out by HTTPS alone.
websocket {
  listen: "${address}:${wssPort}"
  tls { cert_file: "${certificate}", key_file: "${key}" }
}

# A silent connection is found dead after 15 s: what is sent into it would arrive long after its sender gave up.
ping_interval: "5s"
ping_max: 2
max_payload: 1MB

operator: "${serverFiles.operator}"
system_account: "${systemAccount}"
resolver { type: full, dir: "${serverFiles.accounts}", allow_delete: false, interval: "2m" }
resolver_preload { ${systemAccount}: "${systemJwt}" }

# Remembers which machines there are.
jetstream { store_dir: "${serverFiles.jetstream}", max_memory_store: 16MB, max_file_store: 256MB }
${clusterSection(config)}`;
}

/** Servers of a cluster authenticate each other only by certificates of the fleet's authority. */
function clusterSection({ fleet, host, cluster, clusterPort }: ServerConfig): string {
  if (cluster.length < 2) return "";
  const routes = cluster.filter((other) => other !== host).map((other) => `"tls://${bracketed(other)}:${clusterPort}"`);
  return `
cluster {
  name: "${fleet}"
  listen: "${listenAddress(host)}:${clusterPort}"
  tls {
    cert_file: "${serverFiles.peerCertificate}", key_file: "${serverFiles.peerKey}"
    ca_file: "${serverFiles.authority}", verify: true, timeout: 5
  }
  routes: [${routes.join(", ")}]
}
`;
}

/** Every address of the machine; for a name of the loopback, that alone. */
function listenAddress(host: string): string {
  if (host === "localhost") return "127.0.0.1";
  if (isIP(host) === 4) return host.startsWith("127.") ? host : "0.0.0.0";
  if (isIP(host) === 6) return host === "::1" ? "[::1]" : "[::]";
  return "0.0.0.0";
}

/** A host in the form of an address. */
export function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
