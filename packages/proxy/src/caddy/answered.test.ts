import { join } from "node:path";
import { describeDocker, until } from "@berth/testing";
import { expect, it } from "vitest";
import { ask, site } from "../proxy.fixture.ts";
import { proxyPaths } from "../server/paths.ts";
import { serverProxy } from "../server/server-proxy.ts";
import { IMAGE, testHost, useCaddy } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

describeDocker("requests that Caddy has answered", [IMAGE], (docker) => {
  const front = useCaddy(docker);
  const counted = async () => {
    const upstream = await front.upstream((_request, response) => response.end("answer"));
    await front.proxy.put(site("a", [upstream], { isCounted: true }));
    return upstream;
  };
  const runFolder = () => proxyPaths(front.options.folder).run;
  const get = () => ask(front.options.httpPort, { host: "a.test" });
  const answered = async () => {
    const found = await front.proxy.answered();
    return { run: found?.run, count: found?.bySite.get("a") };
  };
  const untilCounted = (count: number) =>
    until(async () => ((await answered()).count === count ? true : undefined), { what: `${count} are counted` });

  it("take three bytes each, which say nothing of them", async () => {
    await counted();
    const before = (await answered()).count ?? 0;
    for (let sent = 1; sent <= 2; sent++) await get();
    await untilCounted(before + 2);
    const logs = await Promise.all(
      ["a", "b"].map((seat) => testHost.files.read(join(runFolder(), seat, "answered/a.log"))),
    );
    expect(logs.map((log) => log?.toString())).toContain("{}\n".repeat(before + 2));
  });

  it("are those of another run after it was replaced, and are counted anew", async () => {
    await counted();
    const before = await answered();
    await get();
    await untilCounted((before.count ?? 0) + 1);
    // The second one has the place of the first again, and nothing of what that has counted.
    for (let replaced = 1; replaced <= 2; replaced++) {
      await front.proxy.ensure({ isAnew: true });
      expect((await answered()).count).toBe(0);
    }
    await get();
    await untilCounted(1);
    expect((await answered()).run).not.toBe(before.run);
  });

  it("are those of another run after its container was started again", async () => {
    await counted();
    const before = await answered();
    const label = [`berth.instance=${docker.instance}`];
    const [found] = await docker.client.listContainers({ filters: { label } });
    await docker.client.getContainer(found?.Id ?? "").restart({ t: 0 });
    await until(async () => ((await get().catch(() => undefined))?.status === 200 ? true : undefined), {
      what: "it serves again",
    });
    expect((await answered()).run).not.toBe(before.run);
  });

  it("are unknown while it does not run, and of sites that nobody asks for", async () => {
    const upstream = await counted();
    await front.proxy.put(site("b", [upstream]));
    expect([...((await front.proxy.answered())?.bySite.keys() ?? [])]).toEqual(["a"]);
    await front.proxy.stop();
    expect(await front.proxy.answered()).toBeUndefined();
    expect(await serverProxy("NONE", front.options).answered()).toBeUndefined();
    await front.proxy.ensure();
  });

  it("are known to another control plane", async () => {
    await counted();
    const other = caddyProxy(front.options);
    await other.sync([site("a", [{ host: "127.0.0.1", port: 9 }], { isCounted: true })]);
    const before = (await answered()).count;
    await front.proxy.put(
      site("a", [await front.upstream((_request, response) => response.end("x"))], { isCounted: true }),
    );
    await get();
    await until(async () => ((await other.answered())?.bySite.get("a") === (before ?? 0) + 1 ? true : undefined));
  });

  it("fill no log of the proxy, and no line of it has a word about them", async () => {
    await counted();
    await front.proxy.put(
      site("a", [await front.upstream((_request, response) => response.writeHead(500).end())], { isCounted: true }),
    );
    const before = (await answered()).count ?? 0;
    await get();
    await untilCounted(before + 1);
    const label = [`berth.instance=${docker.instance}`];
    const [found] = await docker.client.listContainers({ filters: { label } });
    const log = await docker.client.getContainer(found?.Id ?? "").logs({ stdout: true, stderr: true, follow: false });
    expect(log.toString()).not.toContain("handled request");
  });
});
