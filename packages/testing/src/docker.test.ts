import { connect } from "node:net";
import { Client } from "ssh2";
import { describe, expect, it } from "vitest";
import { describeDocker, dockerFixture } from "./docker.ts";
import { testDockerClient } from "./docker-engine.ts";
import { removeLabelled, removeLeftovers, TEST_LABEL, TEST_TIME_LABEL } from "./docker-leftovers.ts";
import { REGISTRY_IMAGE, startRegistry } from "./registry.ts";
import { SERVER_IMAGE, type ServerContainer, startServerContainer } from "./server-container.ts";

const IMAGE = "busybox:stable";

describeDocker("the Docker fixture", [IMAGE], (docker) => {
  let earlier: string;

  describe("of a suite that is over", () => {
    const inner = dockerFixture();

    it("makes containers that the machine reaches by their own address", async () => {
      earlier = inner.run;
      const argv = ["sh", "-c", "mkdir /www && echo hello >/www/index.html && exec httpd -f -p 80 -h /www"];
      const { address, exec } = await inner.container({ image: IMAGE, argv });
      await expect
        .poll(() =>
          fetch(`http://${address}/`)
            .then((answer) => answer.text())
            .catch(String),
        )
        .toBe("hello\n");
      expect(await exec(["sh", "-c", "echo out; echo err >&2; exit 7"])).toMatchObject({ exitCode: 7 });
    });

    it("gives the logs of both streams", async () => {
      const { container, logs } = await inner.container({ image: IMAGE, argv: ["sh", "-c", "echo out; echo err >&2"] });
      await container.wait();
      expect((await logs()).split("\n").sort()).toEqual(["", "err", "out"]);
    });

    it("may leave everything behind", async () => {
      const { client, labels, name, instance } = inner;
      await client.createVolume({ Name: name("volume"), Labels: { ...labels } });
      await client.createVolume({ Name: name("product"), Labels: { "berth.instance": instance } });
      const { container } = await inner.container({ image: IMAGE, argv: ["sleep", "600"] });
      await container.commit({ repo: name("image"), changes: `LABEL ${TEST_LABEL}=${inner.run}` });
      await container.pause();
    });
  });

  it("leaves nothing of a suite that is over", async () => {
    const filters = { label: [`${TEST_LABEL}=${earlier}`] };
    expect(await docker.client.listContainers({ all: true, filters })).toEqual([]);
    expect(await docker.client.listNetworks({ filters })).toEqual([]);
    expect(await docker.client.listImages({ filters })).toEqual([]);
    const { Volumes } = await docker.client.listVolumes();
    expect((Volumes ?? []).filter(({ Name }) => Name.startsWith(earlier))).toEqual([]);
  });

  it("removes what a killed run left two hours ago, and nothing younger", async () => {
    const client = testDockerClient();
    const hoursAgo = (hours: number) => String(Math.floor(Date.now() / 1000) - hours * 3600);
    const labelled = { [docker.run]: "1" }; // A separate label: the fixture's would set a new creation time.
    const old = docker.name("old");
    const young = docker.name("young");
    try {
      await client.createVolume({ Name: old, Labels: { ...labelled, [TEST_TIME_LABEL]: hoursAgo(3) } });
      await client.createVolume({ Name: young, Labels: { ...labelled, [TEST_TIME_LABEL]: hoursAgo(1) } });
      await removeLeftovers(client);
      const { Volumes } = await client.listVolumes({ filters: { label: [docker.run] } });
      expect((Volumes ?? []).map(({ Name }) => Name)).toEqual([young]);
    } finally {
      expect(await removeLabelled(client, docker.run)).toEqual([]);
    }
  });
});

describeDocker("a registry in a container", [IMAGE, REGISTRY_IMAGE], (docker) => {
  it("takes images from who has its password, and from nobody else", async () => {
    const { address, username, password } = await startRegistry(docker);
    const { client } = docker;
    const repo = `${address}/thing`;
    await client.getImage(IMAGE).tag({ repo, tag: "1" });
    try {
      const push = async (authconfig: object) => {
        const stream = await client.getImage(`${repo}:1`).push({ authconfig });
        const lines = await new Promise<{ error?: string }[]>((resolve, reject) => {
          client.modem.followProgress(stream, (error, all) => (error ? reject(error) : resolve(all)));
        });
        return lines.find(({ error }) => error !== undefined)?.error;
      };
      expect(await push({ username, password, serveraddress: address })).toBeUndefined();
      expect(await push({ username, password: "wrong", serveraddress: address })).toMatch(/auth|denied|unauthorized/);
    } finally {
      await client.getImage(`${repo}:1`).remove();
    }
  });
});

describeDocker("servers in containers", [SERVER_IMAGE, IMAGE], (docker) => {
  const servers: ServerContainer[] = [];

  it("start side by side, each with an address, an engine and images of its own", async () => {
    servers.push(...(await Promise.all([startServerContainer(docker), startServerContainer(docker)])));
    expect(new Set(servers.map(({ address }) => address)).size).toBe(2);
    await servers[0]?.loadImages(IMAGE);
    const [first, second] = await Promise.all(servers.map((server) => server.exec(["docker", "images", "-q", IMAGE])));
    expect(first?.output.trim()).toMatch(/^[0-9a-f]{12}$/);
    expect(second?.output.trim()).toBe("");
    const greeting = await servers[0]?.exec(["docker", "run", "--rm", IMAGE, "echo", "from within"]);
    expect(greeting?.output).toContain("from within");
  });

  it("let in over SSH who has the key", async () => {
    const [one, two] = servers;
    expect(one && (await sshRun(one, one.keys.privateKey, "hostname"))).toBe(`${one?.name}\n`);
    await expect(one && two && sshRun(one, two.keys.privateKey, "hostname")).rejects.toThrow(/authentication/);
  });

  it("can lose their network and get it back", async () => {
    const [one] = servers;
    await one?.cutNetwork();
    expect(one && (await greeting(one.address))).toBe("timeout");
    await one?.joinNetwork();
    expect(one && (await greeting(one.address))).toMatch(/^SSH-2.0/);
  });

  it("can lose sshd with its connections and get it back", async () => {
    const [one] = servers;
    await one?.killSshd();
    expect(one && (await greeting(one.address))).toBe("ECONNREFUSED");
    await one?.startSshd();
    expect(one && (await greeting(one.address))).toMatch(/^SSH-2.0/);
  });

  it("can lose power and come back with the same address, keys and disk", async () => {
    const [one] = servers;
    const before = await one?.exec(["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]);
    await one?.down();
    expect(one && (await greeting(one.address))).not.toMatch(/^SSH/);
    await one?.up();
    expect(one && (await greeting(one.address))).toMatch(/^SSH-2.0/);
    expect(await one?.exec(["cat", "/etc/ssh/ssh_host_ed25519_key.pub"])).toEqual(before);
    expect((await one?.exec(["docker", "images", "-q", IMAGE]))?.output.trim()).not.toBe("");
  });
});

function sshRun({ address }: ServerContainer, privateKey: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = new Client();
    client.once("error", reject);
    client.once("ready", () =>
      client.exec(command, (error, channel) => {
        if (error) return reject(error);
        let output = "";
        channel.on("data", (chunk: Buffer) => {
          output += chunk.toString();
        });
        channel.once("close", () => {
          client.end();
          resolve(output);
        });
      }),
    );
    client.connect({ host: address, username: "root", privateKey });
  });
}

/** sshd's greeting, or the error code if there is none. */
function greeting(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 22, timeout: 1500 });
    const end = (text: string) => {
      socket.destroy();
      resolve(text);
    };
    socket.once("data", (chunk) => end(chunk.toString()));
    socket.once("timeout", () => end("timeout"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
