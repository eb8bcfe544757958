import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SOURCE_LIMITS } from "./fetcher.ts";
import { errorOf, type SourceBench, sourceBench } from "./source.fixture.ts";

let bench: SourceBench;
let server: Server | undefined;
beforeEach(() => {
  bench = sourceBench();
  bench.repository.commit({ a: "1" });
});
afterEach(async () => {
  server?.close();
  server?.closeAllConnections();
  await bench.close();
});

/** Address of a repository on a host with arbitrary answers. */
async function hostThat(answer: RequestListener): Promise<string> {
  server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/app.git`; // A TCP server's address is an object.
}

const packet = (text: string): string => `${(text.length + 4).toString(16).padStart(4, "0")}${text}`;
const ADVERTISEMENT = `${packet("# service=git-upload-pack\n")}0000`;
const ID = "a".repeat(40);

/** Writes as long as the client reads. */
function endless(response: ServerResponse, begin: string, piece: (index: number) => string): void {
  let index = 0;
  response.write(begin);
  const more = () => {
    while (!response.destroyed && response.write(piece(index++)));
  };
  response.on("drain", more);
  more();
}

const begin = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "application/x-git-upload-pack-advertisement" });

const refs = (index: number): string =>
  Array.from({ length: 500 }, (_, at) => packet(`${ID} refs/heads/${"x".repeat(200)}-${index}-${at}\n`)).join("");

describe("a git host", () => {
  const fetched = (repository: string, limits = {}) => {
    const source = bench.fetcher({ limits: { ...SOURCE_LIMITS, ...limits } });
    return errorOf(source.checkout(bench.spec({ repository }), "d1", bench.io()));
  };

  test("that names branches without end is given up when its names take too much memory", async () => {
    const url = await hostThat((_request, response) => {
      begin(response);
      endless(response, `${ADVERTISEMENT}${packet(`${ID} refs/heads/main\0agent=x\n`)}`, refs);
    });
    expect(await fetched(url, { gitMemoryBytes: 200 * 2 ** 20 })).toMatchObject({
      code: "source.invalid",
      message: expect.stringContaining("exceeds the memory limit of a fetch"),
    });
  });

  test.each([
    ["answers nothing", () => undefined],
    ["begins and stops", (response: ServerResponse) => void begin(response).write(ADVERTISEMENT.slice(0, 10))],
  ])("that %s is given up after its time", async (_what, answer) => {
    const url = await hostThat((_request, response) => answer(response));
    expect(await fetched(url, { fetchSeconds: 2 })).toMatchObject({
      code: "source.unreachable",
      message: expect.stringContaining("was not fetched within 2 seconds"),
    });
  });

  test.each([
    ["what is not git's", "<html>hello</html>"],
    ["a packet of no length", `${ADVERTISEMENT}zzzz`],
    ["a name that no branch has", `${ADVERTISEMENT}${packet(`${ID} refs/heads/../../config\0x\n`)}0000`],
  ])("that answers %s is refused", async (_what, text) => {
    const url = await hostThat((_request, response) => void begin(response).end(text));
    expect((await fetched(url)).code).toMatch(/^source\./);
  });

  test("that has more branches than are fetched is refused, and leaves nothing of them", async () => {
    for (let at = 0; at < 30; at++) bench.repository.git("branch", `b/${at}`);
    const { url } = await bench.serve();
    const repository = `${url}/app/.git`;
    expect(await fetched(repository, { refs: 20 })).toMatchObject({
      code: "source.invalid",
      message: expect.stringContaining("has more than 20 branches and tags"),
    });
    const source = bench.fetcher();
    expect((await source.checkout(bench.spec({ repository }), "d2", bench.io())).commit).toMatch(/^[0-9a-f]{40}$/);
  });
});
