import { describeDocker, until } from "@berth/testing";
import { expect, it } from "vitest";
import { ask, HOST, site } from "../proxy.fixture.ts";
import { proxyContainer, untilServing, type WantedProxy } from "../server/container.ts";
import { statusAt } from "../server/probe.ts";
import { untilRehearsed } from "../server/rehearsal.ts";
import { serverProxy } from "../server/server-proxy.ts";
import { IMAGE, testHost, useCaddy } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";
import { startClients } from "./load-clients.fixture.ts";

/** Another name of the same image: to Berth it is another image. */
const SECOND_IMAGE = "caddy:2-alpine";
const PROGRAM_IMAGE = "node:24-alpine";
const CHANGES = 4;
const REQUESTS_MIN = 600;

describeDocker("a change of the proxy itself", [IMAGE, SECOND_IMAGE, PROGRAM_IMAGE], (docker) => {
  const front = useCaddy(docker);
  const container = () => proxyContainer({ server: "here", ...front.options });
  const containers = () =>
    docker.client.listContainers({ all: true, filters: { label: [`berth.instance=${docker.instance}`] } });
  const text = async (host: string) => (await ask(front.options.httpPort, { host })).text;
  const put = async (id: string) =>
    front.proxy.put(site(id, [await front.upstream((_request, response) => response.end(id))]));

  /** A program that listens at the proxy's port, in place of a proxy of another type. It does not share the port. */
  function program(answer: string): WantedProxy {
    const { httpPort } = front.options;
    const server = `require("node:http").createServer((request, response) => { ${answer} })`;
    const script = `${server}.listen(${httpPort}, () => console.log("Listens."))`;
    const spec = {
      type: "TRAEFIK",
      image: PROGRAM_IMAGE,
      command: ["node", "-e", script],
      env: {},
      mounts: [],
    } as const;
    const known = { ...site("a", []), slotCount: 1, basicAuth: undefined };
    return {
      specFor: () => spec,
      prepare: async () => {},
      untilServing: (one) =>
        untilServing("here", one, async () => {
          const isListening = (await one.lastLines()).includes("Listens.");
          return isListening && (await statusAt(testHost, { host: HOST, port: httpPort })) !== undefined;
        }),
      rehearsal: async () => ({
        spec,
        check: (one, address) => untilRehearsed(testHost, one, { host: address, port: httpPort }, [known]),
      }),
    };
  }

  it.each([
    ["whose image cannot be had", () => caddyProxy({ ...front.options, image: "berth.invalid/no/proxy:1" }).ensure()],
    ["whose image holds no proxy", () => caddyProxy({ ...front.options, image: PROGRAM_IMAGE }).ensure()],
    ["of another type that does not start", () => serverProxy("TRAEFIK", { ...front.options, image: IMAGE }).ensure()],
    ["that ends at once", () => container().ensure(program("}); process.exit(3); ({"))],
  ])("to one %s is refused before anything of the one that serves is touched", async (_what, change) => {
    await put("a");
    const before = await containers();
    await expect(change()).rejects.toMatchObject({ code: expect.stringMatching(/^setup.failed$|^engine.failed$/) });
    expect((await containers()).map(({ Id }) => Id)).toEqual(before.map(({ Id }) => Id));
    expect(await text("a.test")).toBe("a");
    await put("b");
    expect(await text("b.test")).toBe("b");
  });

  it(`answers ${REQUESTS_MIN} requests of clients that keep their connections over ${CHANGES} changes`, async () => {
    const upstream = await front.upstream((request, response) => request.pipe(response));
    await front.proxy.put(site("load", [upstream]));
    const clients = startClients({ port: front.options.httpPort, requestsPerSecond: 100, talkers: 0 });
    clients.begin();
    try {
      for (let change = 1; change <= CHANGES; change++) {
        const image = change % 2 === 1 ? SECOND_IMAGE : IMAGE;
        await caddyProxy({ ...front.options, image }).ensure();
        const goal = (change * REQUESTS_MIN) / CHANGES;
        await until(() => clients.requests() >= goal, { what: "requests went through it", seconds: 60 });
      }
    } finally {
      const { failures } = await clients.end();
      // A connection that lay idle may be closed while its client sends; a busy machine has more of these.
      expect(failures.filter((failure) => !/other side closed|ECONNRESET/.test(failure))).toEqual([]);
      expect(failures.length).toBeLessThan(clients.requests() / 100);
    }
    expect((await containers()).map(({ Names }) => Names)).toEqual([[`/berth-proxy-${docker.instance}`]]);
    // Another control plane's adapter finds the container of now.
    await put("c");
    expect(await text("c.test")).toBe("c");
  });

  it("to one that does not share the ports ends the one before first, and is undone when the new one fails", async () => {
    await put("a");
    const [before] = await containers();
    // Where no client comes it serves, and it dies of its first client.
    const dying = `if (request.headers.host !== "a.test") process.exit(3); response.end("mine")`;
    await expect(container().ensure(program(dying))).rejects.toMatchObject({ code: "setup.failed" });
    expect((await containers()).map(({ Id, State }) => [Id, State])).toEqual([[before?.Id, "running"]]);
    await until(async () => (await text("a.test").catch(String)) === "a", { what: "it serves again" });

    await container().ensure(program(`response.end("mine")`));
    expect([await text("a.test"), (await front.proxy.status()).type]).toEqual(["mine", "TRAEFIK"]);
    await front.proxy.ensure();
    expect([await text("a.test"), (await front.proxy.status()).type]).toEqual(["a", "CADDY"]);
  });

  it("that broke off in its middle is finished by the next start", async () => {
    await put("a");
    const [main] = await containers();
    await docker.client.getContainer(main?.Id ?? "").rename({ name: `berth-proxy-${docker.instance}-next` });
    expect((await front.proxy.status()).state).toBe("running");
    await caddyProxy(front.options).ensure();
    const found = (await containers()).map(({ Id, Names }) => [Id, Names]);
    expect(found).toEqual([[main?.Id, [`/berth-proxy-${docker.instance}`]]]);
  });
});
