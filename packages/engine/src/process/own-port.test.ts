import { createServer } from "node:net";
import { eventually } from "@berth/testing";
import { expect, test } from "vitest";
import { io } from "./process.fixture.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec, state, ask } = suite;

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

const listener = (...ports: readonly (number | "process.env.PORT")[]) => ({
  files: {
    "app.mjs": `
      import { createServer } from "node:http";
      for (const port of [${ports}]) createServer((_request, response) => response.end("here")).listen(port);`,
  },
  run: "node app.mjs",
});

test("a program that listens on a port of ports_exposes takes its requests there, whatever PORT says", async () => {
  const own = await freePort();
  const spec = await newSpec({ ...listener(own), ports: [own] });
  const { upstream } = await suite.engine.start(spec, io());
  expect(upstream?.port).not.toBe(own);
  await eventually(async () => expect((await state(spec)).upstream).toEqual({ host: "127.0.0.1", port: own }));
  expect(await ask(own, "")).toBe("here");
  // The next control plane knows it at once.
  const [adopted] = await (await suite.reopen()).list();
  expect(adopted?.upstream?.port).toBe(own);
  // The deployment that stops it for its port must know that before it listens.
  await suite.engine.stop(spec, { graceSeconds: 1 });
  expect((await suite.engine.start(spec, io())).upstream?.port).toBe(own);
});

test("the port in PORT counts where both are listened on", async () => {
  const own = await freePort();
  const spec = await newSpec({ ...listener(own, "process.env.PORT"), ports: [own] });
  const { upstream } = await suite.engine.start(spec, io());
  expect(await ask(upstream?.port, "")).toBe("here");
  expect((await state(spec)).upstream).toEqual(upstream);
});

test("a port that ports_exposes does not name is the program's own matter", async () => {
  const [own, other] = [await freePort(), await freePort()];
  const spec = await newSpec({ ...listener(own), ports: [other] });
  const { upstream } = await suite.engine.start(spec, io());
  expect(await ask(own, "")).toBe("here");
  expect((await state(spec)).upstream).toEqual(upstream);
});
