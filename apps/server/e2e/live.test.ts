import { connect, createServer, type Server, type Socket } from "node:net";
import { createClient, type Outputs } from "@berth/client";
import { assertTook, until } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  outcomeOf,
  plainServer,
  requestDeployment,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const LINES = 60;
const CUTS = 3;
/** A build that prints a numbered line now and then, so that the connection is cut in its middle. */
const COUNTING_BUILD = `
  let line = 0;
  const timer = setInterval(() => {
    console.log("counted " + line);
    line += 1;
    if (line === ${LINES}) clearInterval(timer);
  }, 40);
`;
const TALKATIVE = `
  const http = require("node:http");
  http.createServer((request, response) => response.end("talks")).listen(process.env.PORT);
  let line = 0;
  setInterval(() => { console.log("said " + line); line += 1; }, 25);
  process.on("SIGTERM", () => process.exit(0));
`;

let server: TestServer;
let relay: Relay;
let client: ReturnType<typeof createClient>;
const source = temporaryRepository({
  "package.json": JSON.stringify({
    name: "talks",
    version: "1.0.0",
    scripts: { build: "node build.js", start: "node server.js" },
  }),
  "build.js": COUNTING_BUILD,
  "server.js": TALKATIVE,
});
let talks: Deployed;
beforeAll(async () => {
  server = await testServer();
  relay = await relayTo(Number(new URL(server.url).port));
  client = createClient({ url: `http://127.0.0.1:${relay.port}`, token: server.token });
  talks = await createApplication(server, source, { name: "talks" });
});
afterAll(async () => {
  relay.close();
  await server.dispose();
  source.dispose();
});

it("follows a deployment through lost connections with no line lost or repeated", async () => {
  const deployment = await requestDeployment(server, talks.uuid);
  const seqs: number[] = [];
  const outputs: string[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    client.deployments.follow.subscribe(
      { uuid: deployment },
      {
        onData: ({ data }) => {
          if (data.type !== "line") return;
          seqs.push(data.line.seq);
          outputs.push(data.line.output);
        },
        onComplete: resolve,
        onError: reject,
      },
    );
  });
  for (let cut = 1; cut <= CUTS; cut += 1) {
    await until(() => outputs.includes(`counted ${cut * 10}`));
    relay.cut();
  }
  expect(await outcomeOf(server, deployment)).toMatchObject({ status: "finished" });
  await ended;
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 1));
  const counted = outputs.filter((output) => output.startsWith("counted "));
  expect(counted).toEqual(Array.from({ length: LINES }, (_, line) => `counted ${line}`));
});

it("follows an application through lost connections with no line lost or repeated", async () => {
  const lines: Outputs["applications"]["logs"]["tail"]["logs"][] = [];
  const following = client.applications.logs.follow.subscribe(
    { uuid: talks.uuid, lines: 5 },
    { onData: ({ data }) => void lines.push(data.line) },
  );
  for (let cut = 1; cut <= CUTS; cut += 1) {
    const target = lines.length + 40;
    await until(() => lines.length >= target);
    relay.cut();
  }
  await until(() => lines.length >= CUTS * 40 + 40);
  following.unsubscribe();
  const said = lines.filter((line) => line.startsWith("said ")).map((line) => Number(line.slice(5)));
  const first = said[0] ?? 0;
  expect(said).toEqual(Array.from({ length: said.length }, (_, index) => first + index));
});

it("ends a cancelled build within seconds, and what ran before continues", async () => {
  source.commit({ "build.js": "console.log('builds for ever'); setInterval(() => {}, 1000);" });
  const deployment = await requestDeployment(server, talks.uuid);
  await until(async () => {
    const { body } = await server.rest("GET", `/deployments/${deployment}/logs`);
    return (body as { lines: { output: string }[] }).lines.some(({ output }) => output === "builds for ever");
  });
  const askedAt = performance.now();
  const answer = await server.rest("POST", `/deployments/${deployment}/cancel`);
  expect(answer).toMatchObject({ status: 200, body: { status: "cancelled-by-user" } });
  await assertTook(performance.now() - askedAt, 5_000);
  const outcome = await outcomeOf(server, deployment);
  expect(outcome.status).toBe("cancelled-by-user");
  expect(await get(server, talks.host)).toEqual({ status: 200, body: "talks" });
  expect(await server.rest("POST", `/deployments/${deployment}/cancel`)).toMatchObject({ status: 400 });
  source.commit({ ...plainServer("after"), "build.js": "" });
  expect(await deploy(server, talks.uuid)).toMatchObject({ status: "finished" });
});

interface Relay {
  readonly port: number;
  /** Cuts all open connections. */
  cut(): void;
  close(): void;
}

/** A TCP proxy between client and server that can be cut. */
async function relayTo(port: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const relay: Server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const address = relay.address();
  if (address === null || typeof address === "string") throw new Error("The relay does not listen.");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    close: () => {
      cut();
      relay.close();
    },
  };
}
