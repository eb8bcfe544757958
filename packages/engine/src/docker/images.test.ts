import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { EngineImages } from "@berth/core/ports";
import { dockerClient, followProgress } from "@berth/docker-client";
import { localHost, type SshHost, sshHost } from "@berth/host";
import { rawTar } from "@berth/source/testing";
import {
  describeDocker,
  registryLogins,
  type ServerContainer,
  startRegistry,
  startServerContainer,
  type TestRegistry,
  trustRegistry,
} from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dockerImages } from "./images.ts";

const MEGABYTE = 1_000_000;
const ignored = () => undefined;
const quiet = { signal: new AbortController().signal, onLine: ignored };

describeDocker("an image", ["server:debian13", "registry:2", "busybox:stable"], (docker) => {
  let folder: string;
  let machine: ServerContainer;
  let host: SshHost;
  let far: Docker;
  let registry: TestRegistry;
  let here: EngineImages;
  let there: EngineImages;
  const made: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-images-"));
    [machine, registry] = await Promise.all([startServerContainer(docker), startRegistry(docker)]);
    await trustRegistry(registry, [machine]);
    const dockerConfigFile = join(folder, "config.json");
    writeFileSync(dockerConfigFile, registryLogins(registry));
    host = sshHost({
      name: "far",
      ip: machine.address,
      port: 22,
      user: "root",
      privateKey: async () => machine.keys.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      connectTimeoutSeconds: 10,
      bridgeFolder: join(folder, "bridges"),
    });
    far = dockerClient(host);
    here = dockerImages({ docker: dockerClient(localHost("near")), server: "near", dockerConfigFile });
    there = dockerImages({ docker: far, server: "far", dockerConfigFile });
  });
  afterAll(async () => {
    await Promise.all(made.map((name) => docker.client.getImage(name).remove().catch(ignored)));
    await host?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** An image with unique content. */
  async function image(sizeBytes = MEGABYTE, engine = docker.client): Promise<string> {
    const name = `${docker.name("image")}:1`;
    made.push(name);
    const archive = rawTar([
      { path: "Dockerfile", content: "FROM busybox:stable\nCOPY content /content\n" },
      { path: "content", content: randomBytes(sizeBytes / 2).toString("hex") },
    ]);
    await followProgress(
      await engine.buildImage(Readable.from([archive]), { t: name, labels: { ...docker.labels } }),
      quiet,
    );
    return name;
  }
  const ran = async (name: string) => {
    const { container, logs } = await docker.container({ image: name, argv: ["ls", "/content"] });
    await container.wait();
    const output = await logs();
    await container.remove();
    return output;
  };
  const leftovers = async () => {
    const { output } = await machine.exec(["sh", "-c", "ls -A /var/lib/docker/tmp; docker images -aq | sort"]);
    return output;
  };

  test("comes from one engine to another over the connection, and runs there", async () => {
    const name = await image();
    expect(await there.find(name)).toBeUndefined();
    const moved = await there.load(here.save(name, []), name, quiet.signal);
    expect(moved.id).toBe((await here.find(name))?.id);
    const { exitCode, output } = await machine.exec([
      "docker",
      "run",
      "--rm",
      "--network",
      "none",
      name,
      "ls",
      "/content",
    ]);
    expect(exitCode, output).toBe(0);
    await far.getImage(name).remove();
  });

  test("comes without the layers that the other engine has, and runs there", async () => {
    await machine.loadImages("busybox:stable");
    const name = await image(MEGABYTE, far);
    const layers = (await there.find(name))?.layers ?? [];
    const held = await here.held(layers);
    expect(held).toEqual(layers.slice(0, -1));
    const sent = async (without: readonly string[]) => {
      let bytes = 0;
      const counted = async function* () {
        for await (const chunk of there.save(name, without)) {
          bytes += chunk.length;
          yield chunk;
        }
      };
      expect(await here.load(counted(), name, quiet.signal)).toMatchObject({ layers });
      return bytes;
    };
    const bytes = await sent(held);
    expect(bytes).toBeLessThan(2 * MEGABYTE);
    expect(await ran(name)).toContain("/content");
    await docker.client.getImage(name).remove();
    expect(await sent([])).toBeGreaterThan(bytes + MEGABYTE);
    expect(await here.held(["sha256:none", ...layers])).toEqual([]);
  });

  test("of no engine is refused, and nothing of one that breaks off stays", async () => {
    await expect(there.load(here.save("berth/none:x", []), "berth/none:x", quiet.signal)).rejects.toMatchObject({
      code: "engine.failed",
    });
    const name = await image();
    const before = await leftovers();
    const brokenOff = async function* () {
      let bytes = 0;
      for await (const chunk of here.save(name, [])) {
        bytes += chunk.length;
        if (bytes > MEGABYTE / 2) throw new Error("cut");
        yield chunk;
      }
    };
    await expect(there.load(brokenOff(), name, quiet.signal)).rejects.toMatchObject({
      message: expect.stringContaining("cut"),
    });
    await expect.poll(leftovers).toBe(before);
  });

  test("that is on its way stops at once when it is cancelled", async () => {
    const name = await image(20 * MEGABYTE);
    const before = await leftovers();
    const stopping = new AbortController();
    let isEnded = false;
    const watched = async function* () {
      try {
        for await (const chunk of here.save(name, [])) {
          yield chunk;
          stopping.abort();
        }
      } finally {
        isEnded = true;
      }
    };
    await expect(there.load(watched(), name, stopping.signal)).rejects.toMatchObject({ code: "deploy.cancelled" });
    await expect.poll(() => isEnded).toBe(true);
    await expect.poll(leftovers).toBe(before);
  });

  test("is pushed with the instance's login and pulled by its digest, and leaves no other name", async () => {
    const name = await image();
    const lines: string[] = [];
    const io = { ...quiet, onLine: (line: string) => void lines.push(line) };
    const digest = await here.push(name, { name: `${registry.address}/${docker.run}/app`, tag: "v1" }, io);
    expect(digest).toMatch(/^127\.0\.0\.1:\d+\/[a-z0-9-]+\/app@sha256:[0-9a-f]{64}$/);
    expect(await here.find(`${registry.address}/${docker.run}/app:v1`)).toBeUndefined();
    const own = "berth/app:d1";
    const seenThere = digest.replace(registry.address, registry.networkAddress);
    expect(await there.pull(seenThere, own, io)).toMatchObject({ id: (await here.find(name))?.id });
    const { RepoTags, RepoDigests } = await far.getImage(own).inspect();
    expect({ RepoTags, RepoDigests }).toEqual({ RepoTags: [own], RepoDigests: [] });
    expect(lines.join("\n")).toContain(`Pushed ${digest}`);
    expect(lines.join("\n")).not.toContain(registry.password);
  });

  test("leaves another's name as it was when it is pushed under it", async () => {
    const [name, other] = [await image(), await image()];
    const to = { name: `${registry.address}/${docker.run}/shared`, tag: "v1" };
    await docker.client.getImage(other).tag({ repo: to.name, tag: to.tag });
    made.push(`${to.name}:${to.tag}`);
    await here.push(name, to, quiet);
    expect((await here.find(`${to.name}:${to.tag}`))?.id).toBe((await here.find(other))?.id);
  });

  test.each([
    ["that has no login for it", () => registry.address, "requires a login that may push"],
    ["where nothing listens", () => "127.0.0.1:9", "connection refused"],
  ])("cannot be pushed to a registry %s, and the sentence names the registry", async (_, address, reason) => {
    const name = await image();
    const stranger = dockerImages({ docker: docker.client, server: "near" });
    const to = { name: `${address()}/${docker.run}/app`, tag: "v1" };
    const failure = stranger.push(name, to, quiet);
    await expect(failure).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: expect.stringContaining(reason),
    });
    await expect(failure).rejects.toThrow(`the registry ${address()}`);
    expect(await here.find(`${to.name}:v1`)).toBeUndefined();
  });

  test("stops on its way to a registry when it is cancelled, and loses the name again", async () => {
    const name = await image(20 * MEGABYTE);
    const stopping = new AbortController();
    const onLine = (line: string) => {
      if (!line.startsWith("The push")) return;
      stopping.abort();
    };
    const io = { signal: stopping.signal, onLine };
    const to = { name: `${registry.address}/${docker.run}/stopped`, tag: "v1" };
    await expect(here.push(name, to, io)).rejects.toMatchObject({ code: "deploy.cancelled" });
    await expect(here.push(name, to, io)).rejects.toMatchObject({ code: "deploy.cancelled" });
    expect(await here.find(`${to.name}:v1`)).toBeUndefined();
  });

  test("is never pushed under a name of Berth's own", async () => {
    await expect(here.push("busybox:stable", { name: "berth/other", tag: "x" }, quiet)).rejects.toMatchObject({
      code: "deploy.build_failed",
    });
  });
});
