import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDomainError } from "@berth/core";
import { localHost } from "@berth/host";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DockerWorld, dockerWorld, io } from "../docker.fixture.ts";
import type { DockerEngine } from "../engine.ts";
import { stackSpec } from "./stack.fixture.ts";
import { composeTool } from "./tool.ts";

const TEXT = `
services:
  web:
    image: busybox:stable
    command: ["sh", "-c", "echo web $$GREETING; wget -qO- http://db:8000/ready; exec httpd -f -p 8080 -h /www"]
    environment: { GREETING: "\${GREETING:-none}" }
    stop_grace_period: 1s
    volumes: ["data:/data", { type: bind, source: ./page, target: /www/index.html, content: "hello" }]
    depends_on: { db: { condition: service_healthy }, job: { condition: service_completed_successfully } }
  db:
    image: busybox:stable
    command: ["sh", "-c", "mkdir -p /srv && echo yes > /srv/ready && exec httpd -f -p 8000 -h /srv"]
    volumes: ["data:/data"]
    healthcheck: { test: ["CMD", "wget", "-qO", "/dev/null", "http://127.0.0.1:8000/ready"], interval: 10m }
  job: { image: busybox:stable, restart: "no", command: ["sh", "-c", "echo done >/data/job"], volumes: ["data:/data"] }
volumes: { data: }
`;

describeDocker("a release of several containers", ["busybox:stable"], (fixture) => {
  let world: DockerWorld;
  let engine: DockerEngine;
  beforeAll(async () => {
    world = dockerWorld(fixture);
    const host = localHost("test");
    engine = await world.engine({ compose: composeTool({ host, folder: join(tmpdir(), fixture.name("stacks")) }) });
  });
  afterAll(() => world.close());

  const containers = { web: { ports: [8080], networkAliases: ["web-alias"] } };
  /** A container that has just started may not listen yet. */
  const pageAt = (host: string | null | undefined, port: number | null | undefined) =>
    eventually(async () => await (await fetch(`http://${host}:${port}/`)).text());
  const linesOf = async (spec: ReturnType<typeof stackSpec>, container?: string) => {
    const lines: string[] = [];
    for await (const { line } of engine.logs(spec, { ...(container === undefined ? {} : { container }) }))
      lines.push(line);
    return lines;
  };

  test("starts in the order that it asks for, is seen as one, and goes with all that was made for it", async () => {
    const value = ` $\{GREETING} $$x 'a' "b" \\ \u0085\u2028é\t#`;
    const spec = stackSpec(TEXT, { containers, stack: { variables: { GREETING: value } } });
    const state = await engine.start(spec, io());
    expect(state).toMatchObject({ state: "running", upstream: { port: 8080 } });
    expect(
      state.containers?.map(({ name, state: own, exitCode, isExcluded }) => [name, own, exitCode, isExcluded]),
    ).toEqual([
      ["web", "running", null, false],
      ["db", "running", null, false],
      ["job", "exited", 0, true],
    ]);
    expect(await pageAt(state.upstream?.host, 8080)).toBe("hello");
    expect(await engine.exec(spec, 'printf %s "$GREETING"', { timeoutSeconds: 5 })).toMatchObject({ output: value });
    const job = await engine.exec(spec, "cat /data/job", { timeoutSeconds: 5, container: "db" });
    expect(job.output).toBe("done\n");
    const ownCheck = (container: string) => engine.containers.ownCheck(spec, AbortSignal.timeout(10_000), container);
    expect(await ownCheck("db")).toMatchObject({ command: expect.stringContaining("/ready"), exitCode: 0 });
    expect(await ownCheck("web")).toBeUndefined();
    await expect(engine.exec(spec, "true", { timeoutSeconds: 5, container: "none" })).rejects.toThrow("not found");
    expect((await linesOf(spec)).join("\n")).toContain("yes");
    expect(await linesOf(spec, "job")).toEqual([]);
    expect((await engine.usage(spec))?.processes).toBeGreaterThanOrEqual(2);
    const again = await engine.start(spec, io());
    expect(again.containers?.map(({ startedAt }) => startedAt)).toEqual(
      state.containers?.map(({ startedAt }) => startedAt),
    );
    expect((await engine.list()).filter((one) => one.deploymentUuid === spec.deploymentUuid)).toHaveLength(1);

    await engine.stop(spec, { graceSeconds: 1 });
    expect(await engine.inspect(spec)).toMatchObject({ state: "exited" });
    expect(await engine.start(spec, io())).toMatchObject({ state: "running" });
    await engine.remove(spec, { graceSeconds: 0 });
    expect(await engine.inspect(spec)).toBeUndefined();
    const label = [`berth.resource=${spec.resourceUuid}`];
    expect(await world.docker.listNetworks({ filters: { label } })).toEqual([]);
    expect((await world.docker.listVolumes({ filters: { label } })).Volumes).toHaveLength(1);
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
    expect((await world.docker.listVolumes({ filters: { label } })).Volumes ?? []).toEqual([]);
  });

  test("finds its own containers by their keys, and those of another one in the same network by their own names", async () => {
    const network = fixture.name("aaa");
    const text = `services:
  web: { image: "busybox:stable", command: [sleep, "1000"], stop_grace_period: 0s }
  db: { image: "busybox:stable", container_name: data, command: [sh, -c, "mkdir /w && echo $$NAME >/w/n && exec httpd -f -p 80 -h /w"] }
`;
    const specs = ["one", "two"].map((name) => {
      const db = { env: { NAME: name }, networkAliases: [`db-${name}`] };
      return stackSpec(text, { containers: { db }, stack: { networks: [network] } });
    });
    for (const spec of specs) await engine.start(spec, io());
    const [one, two] = specs;
    if (one === undefined || two === undefined) throw new Error("There are two.");
    const script = "for host in db data db db data db-one db-two; do wget -qO- http://$host/n | tr '\\n' ' '; done";
    const asked = async (spec: typeof one) =>
      (await engine.exec(spec, script, { timeoutSeconds: 20, container: "web" })).output.trim();
    await eventually(async () => expect(await asked(one)).toBe("one one one one one one two"));
    expect(await asked(two)).toBe("two two two two two one two");
    // A start of a running release creates no container.
    const before = (await world.containersOf(two)).map(({ Id }) => Id).sort();
    await engine.start(two, io());
    expect((await world.containersOf(two)).map(({ Id }) => Id).sort()).toEqual(before);
    for (const spec of specs) await engine.remove(spec, { graceSeconds: 0 });
  });

  test("answers in an internal network and is found there by the others, and is in no network beside it", async () => {
    const text = `
x-one: &one
  image: "busybox:stable"
  command: [sh, -c, "mkdir /w && hostname >/w/index.html && exec httpd -f -p 8080 -h /w"]
  stop_grace_period: 0s
services:
  web: { <<: *one, networks: [back], hostname: web }
  gate: { <<: *one, networks: [back, aaa], hostname: gate }
networks: { back: { internal: true }, aaa: }
`;
    const containers = { web: { ports: [8080], networkAliases: ["web-alias"] }, gate: { ports: [8080] } };
    const spec = stackSpec(text, { containers });
    const { containers: started = [] } = await engine.start(spec, io());
    const pages = started.map(({ address, port }) => pageAt(address, port));
    expect(await Promise.all(pages)).toEqual(["web\n", "gate\n"]);
    const printed = async (container: string, command: string) =>
      (await engine.exec(spec, command, { timeoutSeconds: 10, container })).output.trim();
    expect(await printed("gate", "wget -qO- http://web:8080 http://web-alias:8080")).toBe("web\nweb");
    expect(await printed("web", "wget -qO- http://gate:8080")).toBe("gate");
    const found = await fixture.client.listContainers({
      filters: { label: [`berth.deployment=${spec.deploymentUuid}`] },
    });
    const networksOf = (name: string) =>
      found.find(({ Labels }) => Labels["berth.container"] === name)?.NetworkSettings.Networks ?? {};
    const scope = spec.resourceUuid;
    expect(Object.keys(networksOf("web"))).toEqual([`${scope}_back`]);
    expect(await fixture.client.getNetwork(`${scope}_back`).inspect()).toMatchObject({ Internal: true });
    // The server may not reach the other networks, so the address is always in the common one.
    expect(started[1]?.address).toBe(networksOf("gate")[scope]?.IPAddress);
    await engine.remove(spec, { graceSeconds: 0 });
  });

  test("joins a network with what the text says of it now, beside the one that the release before is in", async () => {
    const text = (network: string) => `services:
  web: { image: "busybox:stable", command: [sleep, "1000"], stop_grace_period: 0s, networks: [back] }
  other: { image: "busybox:stable", command: [sleep, "1000"], stop_grace_period: 0s }
networks: { back: ${network} }
`;
    const first = stackSpec(text("{}"));
    const { resourceUuid } = first;
    await engine.start(first, io());
    const networksOf = async (spec: typeof first) => {
      const [web] = (await world.containersOf(spec)).filter(({ Names }) => Names[0]?.startsWith("/web-"));
      const names = Object.keys(web?.NetworkSettings.Networks ?? {}).filter((name) => name !== resourceUuid);
      return await Promise.all(names.map(async (name) => await world.docker.getNetwork(name).inspect()));
    };
    const lines: string[] = [];
    const deploy = async (network: string, before: typeof first) => {
      const replaces = { deploymentUuid: before.deploymentUuid, keeps: "unchanged", isRestart: false } as const;
      const spec = stackSpec(text(network), { resourceUuid, stack: { replaces } });
      await engine.start(spec, { ...io(), onLine: (line) => lines.push(line) });
      return spec;
    };
    const second = await deploy("{ internal: true }", first);
    expect(await networksOf(second)).toMatchObject([{ Internal: true }]);
    expect(await networksOf(first)).toMatchObject([{ Internal: false }]);
    expect(lines).toContain("Creates the network back anew, since its definition has changed");
    expect(lines).toContain("Keeps other, which is unchanged");
    await engine.remove(first, { graceSeconds: 0 });
    lines.length = 0;
    // The existing network is used again.
    const third = await deploy("{ internal: true }", second);
    expect(lines.filter((line) => !line.startsWith("Container"))).toEqual([
      "Keeps web, which is unchanged",
      "Keeps other, which is unchanged",
    ]);
    await engine.remove(second, { graceSeconds: 0 });
    await engine.remove(third, { graceSeconds: 0 });
    const label = [`berth.resource=${resourceUuid}`];
    expect(await world.docker.listNetworks({ filters: { label } })).toEqual([]);
  });

  test("stands beside the one before it, whose containers start again when it fails", async () => {
    const old = stackSpec(TEXT, { containers });
    await engine.start(old, io());
    const { resourceUuid } = old;
    const failing = TEXT.replace("echo done >/data/job", "exit 3");
    const next = stackSpec(failing, { containers, resourceUuid });
    const failure = await engine.start(next, io()).catch((error: unknown) => error);
    expect(isDomainError(failure, "deploy.start_failed") && failure.message).toContain("job");
    expect(await engine.inspect(old)).toMatchObject({ state: "running" });
    await engine.stop(old, { graceSeconds: 0 });
    await engine.remove(next, { graceSeconds: 0 });
    expect(await world.containersOf(next)).toEqual([]);
    expect(await engine.start(old, io())).toMatchObject({ state: "running" });
    await engine.removeResource(resourceUuid, { deleteVolumes: true });
    expect(await world.containersOf({ resourceUuid })).toEqual([]);
  });

  test("keeps an unchanged container that the engine has not checked yet, and starts what waits for it", async () => {
    const beside = `${TEXT}`.replace(
      "volumes: { data: }",
      '  beside: { image: "busybox:stable", stop_grace_period: 0s, network_mode: "service:web", command: [sleep, "1000"] }\nvolumes: { data: }',
    );
    const first = stackSpec(beside, { containers });
    await engine.start(first, io());
    const { resourceUuid } = first;
    const db = async () =>
      (await world.containersOf({ resourceUuid })).filter(({ Labels }) => Labels["berth.container"] === "db");
    const [before, ...others] = await db();
    expect([before?.Status, others]).toEqual([expect.stringContaining("health: starting"), []]);
    const replaces = { deploymentUuid: first.deploymentUuid, keeps: "unchanged", isRestart: false } as const;
    const second = stackSpec(beside.replace("echo web", "echo again"), {
      containers,
      resourceUuid,
      stack: { replaces },
    });
    const lines: string[] = [];
    const state = await engine.start(second, { ...io(), onLine: (line) => lines.push(line) });
    expect(lines).toContain("Keeps db, which is unchanged");
    expect(state.containers?.map(({ name, state: own }) => [name, own])).toEqual([
      ["web", "running"],
      ["db", "running"],
      ["job", "exited"],
      ["beside", "running"],
    ]);
    expect(await db()).toMatchObject([{ Id: before?.Id, State: "running" }]);
    await engine.removeResource(resourceUuid, { deleteVolumes: true });
  });

  test.each([
    ["no", "exited with code 4 before it was healthy"],
    ["always", "keeps restarting"],
  ])("fails when what others wait for ends: restart %s", async (restart, why) => {
    const text = TEXT.replace("exec httpd -f -p 8000 -h /srv", "echo no space; exit 4").replace(
      "  db:",
      `  db:\n    restart: "${restart}"`,
    );
    const spec = stackSpec(text, { containers });
    const lines: string[] = [];
    await expect(engine.start(spec, { ...io(), onLine: (line) => lines.push(line) })).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: `The containers could not be started: db, which others wait for, ${why}.`,
    });
    const title = lines.indexOf("The last lines of the log of container db:");
    expect([title > 0, lines[title + 1]], lines.join("\n")).toEqual([true, "no space"]);
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
  });

  test("has as many containers of one service as its text says, each chosen by its number", async () => {
    const text = `services: { web: { image: "busybox:stable", scale: 3, stop_grace_period: 1s,
      command: ["sh", "-c", "hostname; exec httpd -f -p 8080"] } }`;
    const spec = stackSpec(text, { containers });
    const state = await engine.start(spec, io());
    expect(state.containers?.map(({ name, number }) => [name, number])).toEqual([
      ["web", 1],
      ["web", 2],
      ["web", 3],
    ]);
    expect(new Set(state.containers?.map(({ address }) => address)).size).toBe(3);
    await eventually(async () => {
      const names = await Promise.all(["web", "web-1", "web-2", "web-3"].map((name) => linesOf(spec, name)));
      expect(names[0]).toEqual(names[1]);
      expect(new Set(names.flat()).size).toBe(3);
      const all: [string | undefined, string][] = [];
      for await (const { container, line } of engine.logs(spec, { container: "*" })) all.push([container, line]);
      expect(all.toSorted()).toEqual(["web-1", "web-2", "web-3"].map((name, at) => [name, names[at + 1]?.[0]]));
    });
    await expect(engine.exec(spec, "true", { timeoutSeconds: 5, container: "web-4" })).rejects.toThrow("not found");
    const [one] = await world.containersOf(spec);
    await world.docker.getContainer(one?.Id ?? "").remove({ force: true });
    expect((await engine.start(spec, io())).containers).toHaveLength(3);
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
  });

  describe("in the place of another", () => {
    const text = (page: string, data = "one") => `
services:
  web: { image: "busybox:stable", stop_grace_period: 1s, command: ["sh", "-c", "mkdir /www; echo ${page} >/www/index.html; exec httpd -f -p 8080 -h /www"] }
  store: { image: "busybox:stable", stop_grace_period: 1s, environment: { DATA: ${data} }, volumes: ["data:/data"], command: [sleep, "1000"] }
  cache: { image: "busybox:stable", stop_grace_period: 1s, volumes: ["other:/data"], command: [sleep, "1000"] }
volumes: { data: , other: }
`;
    const next = (deploymentUuid: string, compose: string, resourceUuid: string, isRestart = false) =>
      stackSpec(compose, {
        containers,
        resourceUuid,
        stack: { replaces: { deploymentUuid, keeps: "unchanged", isRestart } },
      });
    const idsOf = async (spec: { readonly resourceUuid: string }) => {
      const all = await world.containersOf({ resourceUuid: spec.resourceUuid });
      const up = all.filter(({ State }) => State === "running");
      return (name: string) => up.flatMap(({ Id, Labels }) => (Labels["berth.container"] === name ? Id : [])).sort();
    };
    const pageOf = async (spec: ReturnType<typeof stackSpec>) => {
      const { host, port } = (await engine.inspect(spec))?.upstream ?? {};
      return (await pageAt(host, port)).trim();
    };

    test("leaves running what nothing changes, and starts beside it what may run twice", async () => {
      const first = stackSpec(text("one"), { containers });
      await engine.start(first, io());
      const before = await idsOf(first);
      const second = next(first.deploymentUuid, text("two"), first.resourceUuid);
      const lines: string[] = [];
      const state = await engine.start(second, { ...io(), onLine: (line) => lines.push(line) });
      expect(state.containers?.map(({ name, state: own }) => [name, own])).toEqual([
        ["web", "running"],
        ["store", "running"],
        ["cache", "running"],
      ]);
      expect(lines).toEqual(
        expect.arrayContaining([
          "Keeps store, which is unchanged",
          "Leaves web running until the new one receives the traffic",
          "Container web Started",
        ]),
      );
      const during = await idsOf(first);
      expect([during("store"), during("cache"), during("web").length]).toEqual([before("store"), before("cache"), 2]);
      expect([await pageOf(first), await pageOf(second)]).toEqual(["one", "two"]);
      await engine.remove(first, { graceSeconds: 0 });
      expect(await engine.inspect(first)).toBeUndefined();
      const after = await idsOf(first);
      expect([after("store"), after("web").length]).toEqual([before("store"), 1]);
      expect((await engine.inspect(second))?.containers).toHaveLength(3);

      // After the undo, shared containers belong to the previous release again.
      const third = next(second.deploymentUuid, text("three", "two"), first.resourceUuid);
      await engine.start(third, io());
      const changed = await idsOf(first);
      expect([changed("cache"), changed("store").length]).toEqual([before("cache"), 1]);
      expect(changed("store")).not.toEqual(before("store"));
      await engine.remove(third, { graceSeconds: 0 });
      const left = await engine.inspect(second);
      expect(left?.containers?.map(({ name, isStopped }) => [name, isStopped])).toEqual([
        ["web", undefined],
        ["store", true],
        ["cache", undefined],
      ]);
      await engine.start(second, io());
      const again = await idsOf(first);
      expect([again("store"), again("cache")]).toEqual([before("store"), before("cache")]);

      // A restart without changes restarts all containers.
      const restarted = next(second.deploymentUuid, text("two"), first.resourceUuid, true);
      await engine.start(restarted, io());
      expect((await idsOf(first))("store")).not.toEqual(before("store"));
      await engine.removeResource(first.resourceUuid, { deleteVolumes: true });
      expect(await world.containersOf({ resourceUuid: first.resourceUuid })).toEqual([]);
    });
  });

  test("is cancelled while it waits for what it depends on", async () => {
    const spec = stackSpec(TEXT.replace("echo yes > /srv/ready &&", ""), { containers });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 2500);
    await expect(engine.start(spec, io(controller.signal))).rejects.toMatchObject({ code: "deploy.cancelled" });
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
  });
});
