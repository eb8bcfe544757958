import { dockerClient } from "@berth/docker-client";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { breakableHost } from "./broken-host.fixture.ts";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";

describeDocker("the log of a container", IMAGES, (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  /** Writes numbered lines to both streams, as fast as it can for a while, then slower. */
  const CHATTER = `
    let n = 0;
    const say = () => { (n % 3 ? process.stdout : process.stderr).write("line " + n++ + "\\n"); };
    for (let i = 0; i < 500; i++) say();
    const timer = setInterval(() => { for (let i = 0; i < 5; i++) say(); if (n >= 1500) { clearInterval(timer); setInterval(() => {}, 1000); } }, 5);
  `;
  const chatter = () => world.image(`CMD ["node", "-e", ${JSON.stringify(CHATTER)}]`);
  const all = Array.from({ length: 1500 }, (_, at) => at);
  const numbersOf = (lines: readonly string[]) => lines.map((line) => Number(line.split(" ")[1])).sort((a, b) => a - b);

  test.each([0, 1500])(
    "is followed without a gap or a repetition over lost connections, from %i lines on",
    async (count) => {
      const broken = breakableHost();
      const engine = await world.engine({ host: broken.host, docker: dockerClient(broken.host) });
      const spec = specOf(await chatter());
      await engine.start(spec, io());
      const written = async () => {
        const lines = [];
        for await (const { line } of engine.logs(spec, {})) lines.push(line);
        return lines.length;
      };
      await eventually(async () => expect(await written()).toBeGreaterThanOrEqual(count));
      const seen: string[] = [];
      const stop = new AbortController();
      const following = (async () => {
        for await (const { line } of engine.logs(spec, { follow: true, signal: stop.signal })) {
          seen.push(line);
          if (seen.length % 200 === 0) broken.hiccup();
        }
      })();
      await eventually(() => expect(numbersOf(seen).at(-1)).toBe(1499));
      stop.abort();
      await following;
      expect(numbersOf(seen)).toEqual(all);
    },
  );

  test("continues after every cursor with exactly what follows", async () => {
    const engine = await world.engine();
    const spec = specOf(await chatter());
    await engine.start(spec, io());
    const read = async (query: object) => {
      const lines = [];
      for await (const line of engine.logs(spec, query)) lines.push(line);
      return lines;
    };
    await eventually(async () => expect(await read({})).toHaveLength(1500));
    const whole = await read({});
    expect(numbersOf(whole.map(({ line }) => line))).toEqual(all);
    for (const at of [0, 1, 499, 500, 777, 1498, 1499]) {
      expect(await read({ after: whole[at]?.cursor })).toEqual(whole.slice(at + 1));
    }
    for (const lines of [1, 7, 100, 1500, 5000]) expect(await read({ lines })).toEqual(whole.slice(-lines));
    await expect(read({ after: "12" })).rejects.toMatchObject({ code: "request.invalid" });
  });

  test("has long lines whole and strange bytes as they are", async () => {
    const program = `console.log("x".repeat(50000)); console.log("é🐳\\u0001 end"); setInterval(() => {}, 1000)`;
    const engine = await world.engine();
    const spec = specOf(await world.image(`CMD ["node", "-e", ${JSON.stringify(program)}]`));
    await engine.start(spec, io());
    await eventually(async () => {
      const lines = [];
      for await (const { line } of engine.logs(spec, {})) lines.push(line);
      expect(lines).toEqual(["x".repeat(50_000), "é🐳\u0001 end"]);
    });
  });

  test("ends at once when nobody follows any more", async () => {
    const engine = await world.engine();
    const spec = specOf(await world.image());
    await engine.start(spec, io());
    const stop = new AbortController();
    const following = (async () => {
      for await (const _ of engine.logs(spec, { follow: true, lines: 0, signal: stop.signal }));
    })();
    stop.abort();
    await following;
  });
});
