/** Forwards TCP connections to a local port and counts their bytes, headers of WebSockets included. */

interface Side {
  other: Bun.Socket<Side> | null;
  /** Bytes that the other side has not read yet. */
  readonly rest: Uint8Array[];
}

export class Counted {
  /** Bytes in both directions. */
  bytes = 0;
  readonly origin: string;
  private readonly listener: Bun.TCPSocketListener<Side>;

  constructor(port: number) {
    const socket: Bun.SocketHandler<Side> = {
      data: (from, chunk) => {
        this.bytes += chunk.length;
        from.data.rest.push(new Uint8Array(chunk));
        pass(from);
      },
      drain: ({ data }) => {
        if (data.other !== null) pass(data.other);
      },
      close: ({ data }) => void data.other?.end(),
    };
    this.listener = Bun.listen<Side>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        ...socket,
        open: async (near) => {
          near.data = { other: null, rest: [] };
          const data: Side = { other: near, rest: [] };
          near.data.other = await Bun.connect<Side>({ hostname: "127.0.0.1", port, data, socket });
          pass(near);
        },
      },
    });
    this.origin = `http://127.0.0.1:${this.listener.port}`;
  }

  stop(): void {
    this.listener.stop(true);
  }
}

function pass({ data: { other, rest } }: Bun.Socket<Side>): void {
  if (other === null) return;
  for (let chunk = rest.shift(); chunk !== undefined; chunk = rest.shift()) {
    const written = Math.max(0, other.write(chunk));
    if (written === chunk.length) continue;
    rest.unshift(chunk.subarray(written));
    return;
  }
}
