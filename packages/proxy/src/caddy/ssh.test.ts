import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { dockerClient } from "@berth/docker-client";
import { type SshHost, sshHost } from "@berth/host";
import { hasSshd, makeSshd, type Sshd } from "@berth/host/testing";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ask, site } from "../proxy.fixture.ts";
import { IMAGE, openSocket, useCaddy } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

describeDocker("Caddy on a server over SSH", [IMAGE], (docker) => {
  const front = useCaddy(docker);
  let sshd: Sshd;
  let host: SshHost;
  let bridgeFolder: string;

  beforeAll(async () => {
    if (!hasSshd) return;
    sshd = await makeSshd();
    await sshd.start();
    bridgeFolder = await mkdtemp(join("/tmp", "berth-bridge-"));
    host = sshHost({
      name: "web-1",
      ip: "127.0.0.1",
      port: sshd.port,
      user: sshd.user,
      connectTimeoutSeconds: 10,
      privateKey: async () => sshd.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      bridgeFolder,
    });
  });
  afterAll(async () => {
    if (!hasSshd) return;
    await host.close();
    await sshd.remove();
    await rm(bridgeFolder, { recursive: true, force: true });
  });

  it.skipIf(!hasSshd)(
    "is started, told, asked and stopped as one of this machine, also after the connection was cut",
    async () => {
      const options = { ...(await front.elsewhere("ssh")), host, docker: dockerClient(host) };
      const proxy = caddyProxy(options);
      const echo = await front.echo("old");
      const young = await front.upstream((_request, response) => response.end("young"));
      await proxy.ensure();
      await proxy.put(site("a", [echo]));
      const { socket, say } = await openSocket(options.httpPort, "a.test");
      front.cleanUp(() => socket.terminate());
      expect([await say("1"), await proxy.inFlight(echo)]).toEqual(["old 1", 1]);
      sshd.cut();
      await until(
        () =>
          proxy.put(site("a", [young])).then(
            () => true,
            () => false,
          ),
        { what: "it is switched" },
      );
      await proxy.put(site("b", [young]));
      const text = async (host: string) => (await ask(options.httpPort, { host })).text;
      expect([await text("a.test"), await text("b.test"), await say("2")]).toEqual(["young", "young", "old 2"]);
      expect([await proxy.inFlight(echo), await proxy.inFlight(young)]).toEqual([1, 0]);
      expect(await proxy.status()).toMatchObject({ state: "running" });
      await proxy.stop();
      expect(await proxy.status()).toMatchObject({ state: "absent" });
    },
  );
});
