import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { pullFailure, wantedImage } from "@berth/docker-client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hasEngine, type ImageSuite, imageSuite } from "./image.fixture.ts";
import { type TestRegistry, testRegistry } from "./registry.fixture.ts";

describe.skipIf(!hasEngine)("an image that is built already", () => {
  let suite: ImageSuite;
  let registry: TestRegistry;
  beforeAll(async () => {
    const plain = imageSuite();
    registry = await testRegistry(plain.docker);
    await plain.close();
    suite = imageSuite({ dockerConfigFile: registry.configFile });
    await registry.push("alpine:3", "team/app", "v1");
  });
  beforeEach(() => void suite.lines.splice(0));
  afterAll(async () => {
    await suite.close();
    await registry.close();
  });
  const image = (repository: string, tag: string) =>
    ({
      build_pack: "dockerimage",
      docker_registry_image_name: `${registry.address}/${repository}`,
      docker_registry_image_tag: tag,
    }) as const;

  test("is pulled with the instance's login, and its digest recorded", async () => {
    const made = await suite.build({}, image("team/app", "v1"));
    expect(made.digest).toMatch(/^127\.0\.0\.1:\d+\/team\/app@sha256:[a-f0-9]{64}$/);
    expect(await suite.output(made.image, ["echo", "runs"])).toBe("runs\n");
    expect(suite.lines.join("\n")).not.toContain(registry.password);
    // The deployment's own name still refers to the old image after the tag has moved.
    await registry.push("busybox:stable", "team/app", "v2");
    const other = await suite.build({}, image("team/app", "v2"));
    expect(other.id).not.toBe(made.id);
    expect((await suite.docker.getImage(made.image).inspect()).Id).toBe(made.id);
    const digest = made.digest?.split("@sha256:")[1] ?? "";
    const again = await suite.build({}, image("team/app@sha256", digest));
    expect(again).toMatchObject({ id: made.id, digest: made.digest });
  });

  test("is pulled with a recorded login, which wins over that of the instance", async () => {
    const { address, login, password } = registry;
    const recorded = (...logins: readonly (typeof registry.login)[]) =>
      imageSuite({ dockerConfigFile: registry.configFile, recordedLogins: async () => logins });
    const other = recorded({ ...login, address: "registry.example" });
    expect((await other.build({}, image("team/app", "v1"))).digest).toContain("@sha256:");
    await other.close();
    const wrong = recorded({ ...login, password: "wrong" });
    await expect(wrong.build({}, image("team/app", "unseen"))).rejects.toMatchObject({
      message: expect.stringContaining(`add a login for ${address} to Berth's registries`),
    });
    await wrong.close();
    const alone = imageSuite({ recordedLogins: async () => [login] });
    expect((await alone.build({}, image("team/app", "v1"))).digest).toContain("@sha256:");
    expect(alone.lines.join("\n")).not.toContain(password);
    await alone.close();
  });

  test("is refused in one sentence when the registry has no such image", async () => {
    await expect(suite.build({}, image("team/app", "nosuch"))).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: `The registry has no image ${registry.address}/team/app:nosuch. Check its name and tag.`,
    });
  });

  test("is refused in one sentence when the registry wants a login", async () => {
    const stranger = imageSuite();
    await expect(stranger.build({}, image("team/other", "v1"))).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: expect.stringContaining("The registry refuses the image"),
    });
    await stranger.close();
  });

  test("is not waited for any longer once it is cancelled, though its registry does not answer", async () => {
    const silent = createServer((client) => client.on("error", () => undefined).resume());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const asked = once(silent, "connection");
    const abort = new AbortController();
    const { port } = silent.address() as AddressInfo; // A TCP server's address is an object.
    const config = { build_pack: "dockerimage", docker_registry_image_name: `127.0.0.1:${port}/never` } as const;
    const pulling = suite.build({}, config, {}, abort.signal).catch((cause: unknown) => cause);
    const [client] = (await asked) as [Socket]; // The event's argument is the socket.
    const gone = once(client, "close");
    abort.abort();
    expect(await pulling).toMatchObject({ code: "deploy.cancelled" });
    // The engine stops the pull as well.
    await gone;
    silent.close();
  });

  test("is the server's own where its registry cannot be reached, which the log tells", async () => {
    const config = { build_pack: "dockerimage", docker_registry_image_name: "alpine", docker_registry_image_tag: "3" };
    const made = await suite.build({}, { ...config, build_pack: "dockerimage" });
    expect(await suite.output(made.image, ["echo", "runs"])).toBe("runs\n");
    const nowhere = { ...config, build_pack: "dockerimage", docker_registry_image_tag: "no-such-tag" } as const;
    await expect(suite.build({}, nowhere)).rejects.toMatchObject({ code: "deploy.build_failed" });
  });
});

describe("the name of an image", () => {
  const config = (name: string | null, tag: string | null) => ({
    ...CONFIG,
    docker_registry_image_name: name,
    docker_registry_image_tag: tag,
  });
  const DIGEST = "a".repeat(64);

  test.each([
    ["nginx", null, "nginx:latest"],
    ["nginx", "1.27", "nginx:1.27"],
    ["ghcr.io/a/b", "x", "ghcr.io/a/b:x"],
    ["nginx@sha256", DIGEST, `nginx@sha256:${DIGEST}`],
  ])("%s with tag %s is %s", (name, tag, expected) => {
    expect(wantedImage(config(name, tag))).toBe(expected);
  });

  test.each([[null], ["--privileged"], ["a b"], ["berth/other"], ["docker.io/berth/x"]])("%j is refused", (name) => {
    expect(() => wantedImage(config(name, null))).toThrow();
  });

  test.each([
    ["toomanyrequests: You have reached your pull rate limit", "Rate limit of the registry"],
    ["pull access denied for x, repository does not exist or may require 'docker login'", "refuses the image"],
    ["unauthorized: authentication required", "refuses the image"],
    ["manifest for x:1 not found: manifest unknown: manifest unknown", "has no image"],
    ['Get "https://r/v2/": dial tcp: lookup r: no such host', "could not be reached"],
    ["something else.", "could not be pulled: something else."],
  ])("is told of when the registry says %j", (said, expected) => {
    expect(pullFailure("x:1", said).message).toContain(expected);
  });
});
