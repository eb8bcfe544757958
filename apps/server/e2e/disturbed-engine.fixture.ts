import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";

export interface DisturbedEngine {
  /** Socket on which the engine is reached while connections are cut and answers damaged. */
  readonly path: string;
  /** Begins to cut half of all connections every half second. */
  disturb(): void;
  /** Whether answers are damaged or broken off as well. */
  damage(isOn: boolean): void;
  /** Ends all of it. */
  calm(): void;
  /** How often each happened. */
  counts(): { readonly cuts: number; readonly damages: number };
  close(): Promise<void>;
}

/** A way to this machine's Docker engine that is as bad as one can be. */
export async function disturbedEngine(path: string, enginePath: string): Promise<DisturbedEngine> {
  const clients = new Set<Socket>();
  let isDamaging = false;
  let timer: NodeJS.Timeout | undefined;
  let answers = 0;
  let cuts = 0;
  let damages = 0;

  function serve(client: Socket): void {
    const engine = createConnection(enginePath);
    clients.add(client);
    const answering = new Transform({
      transform(chunk: Buffer, _, done) {
        answers += 1;
        if (!isDamaging || answers % DAMAGED_EACH !== 0) return done(null, chunk);
        damages += 1;
        const half = chunk.length >> 1;
        if (damages % 2 === 0) return done(null, chunk.fill(0, half, Math.min(half + 8, chunk.length)));
        this.push(chunk.subarray(0, half));
        client.end();
        done();
      },
    });
    client.pipe(engine).pipe(answering).pipe(client);
    for (const [own, other] of [
      [client, engine],
      [engine, client],
    ] as const) {
      own.on("error", () => undefined);
      own.on("close", () => {
        clients.delete(client);
        other.destroy();
      });
    }
  }

  function cutHalf(): void {
    for (const client of clients) {
      if (Math.random() < 0.5) continue;
      cuts += 1;
      client.destroy();
    }
  }

  const server = createServer(serve).listen(path);
  await once(server, "listening");
  return {
    path,
    disturb: () => {
      timer = setInterval(cutHalf, CUT_MS);
    },
    damage: (isOn) => {
      isDamaging = isOn;
    },
    calm: () => {
      clearInterval(timer);
      isDamaging = false;
    },
    counts: () => ({ cuts, damages }),
    async close() {
      clearInterval(timer);
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const CUT_MS = 500;
/** Every so many parts of answers. */
const DAMAGED_EACH = 20;
