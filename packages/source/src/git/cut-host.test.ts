import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CutClient, cutsOf, describeCuts, relay } from "@berth/testing";
import { sourceBench } from "./source.fixture.ts";

/** Does not compress, so that it arrives in many pieces. */
const LARGE = Array.from({ length: 20_000 }, () => Math.random().toString(36)).join("\n");

describeCuts("a connection to a git host", { open, codes: ["source.unreachable", "source.failed"], rounds: 3 });

async function open(): Promise<CutClient> {
  const bench = sourceBench();
  const server = await bench.serve();
  const way = await relay({ host: "127.0.0.1", port: server.port });
  const { signal } = new AbortController();
  const fetched: number[] = [];
  const checkout = async (name: string, content: string): Promise<boolean> => {
    bench.repository.commit({ [name]: content });
    const spec = bench.spec({ repository: `http://127.0.0.1:${way.port}/app/.git` });
    const { folder } = await bench.fetcher().checkout(spec, name, bench.io(signal));
    return readFileSync(join(folder, name), "utf8") === content;
  };
  return {
    cuts: cutsOf(way),
    async write(number) {
      if (!(await checkout(`file-${number}`, String(number)))) throw new Error("A checkout is not whole.");
      fetched.push(number);
    },
    written: async () => fetched,
    async read(onBegun) {
      const reading = checkout(`large-${server.requests.length}`, LARGE);
      // The requests of a fetch that was begun.
      setImmediate(onBegun);
      return await reading;
    },
    async close() {
      await way.close();
      await bench.close();
    },
  };
}
