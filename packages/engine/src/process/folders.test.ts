import { existsSync, lstatSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { BuildRequest, ReleaseSpec, StorageMount } from "@berth/core/deploy";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { describe, expect, test } from "vitest";
import { resourcePaths } from "./paths.ts";
import { io, newRef } from "./process.fixture.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec, state } = suite;
const RUN = "exec sleep 300";

function folderOf({ artifact }: ReleaseSpec): string {
  if (artifact.type !== "folder") throw new Error("The process engine builds folders.");
  return artifact.folder;
}

const request = (change: Partial<BuildRequest> = {}): BuildRequest => ({
  ...newRef(),
  resourceNumber: 1,
  sourceFolder: suite.world.root,
  config: CONFIG,
  env: {},
  isForced: false,
  ...change,
});

describe("what was built", () => {
  test("stays as long as another release runs from it", async () => {
    const built = await newSpec({ run: RUN });
    const again: ReleaseSpec = { ...built, ...newRef() };
    await suite.engine.start(built, io());
    await suite.engine.start(again, io());
    await suite.engine.remove(built, { graceSeconds: 1 });
    expect(existsSync(folderOf(built))).toBe(true);
    await suite.engine.stop(again, { graceSeconds: 1 });
    await suite.engine.start(again, io());
    await suite.engine.remove(again, { graceSeconds: 1 });
    expect(existsSync(folderOf(built))).toBe(false);
  });

  test("stays when a release that borrowed it is removed", async () => {
    const built = await newSpec({ run: RUN });
    const again: ReleaseSpec = { ...built, ...newRef() };
    await suite.engine.start(built, io());
    await suite.engine.start(again, io());
    await suite.engine.remove(again, { graceSeconds: 1 });
    expect(existsSync(folderOf(built))).toBe(true);
    expect((await state(built)).state).toBe("running");
  });

  test("has to lie in the application's own folder", async () => {
    const own = await newSpec({ run: RUN, ref: newRef("own") });
    const foreign = await newSpec({ run: RUN, ref: newRef("foreign") });
    for (const folder of [folderOf(foreign), "/", join(folderOf(own), "../../.."), suite.world.root]) {
      const artifact = { ...own.artifact, folder, workingFolder: folder };
      const starting = suite.engine.start({ ...own, ...newRef("own"), artifact }, io());
      await expect(starting).rejects.toMatchObject({ code: "deploy.start_failed" });
    }
  });

  test("is missed with one sentence when it is gone", async () => {
    const spec = await newSpec({ run: RUN });
    await suite.engine.remove(spec);
    await expect(suite.engine.start(spec, io())).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: expect.stringContaining("Deploy again"),
    });
  });

  test("cannot be an image here", async () => {
    const spec = await newSpec({ run: RUN });
    const starting = suite.engine.start({ ...spec, artifact: { type: "image", image: "nginx" } }, io());
    await expect(starting).rejects.toMatchObject({ code: "engine.unsupported" });
  });
});

describe("build", () => {
  test("works in an empty folder of its own, also when it is repeated", async () => {
    const asked = request();
    const artifact = await suite.engine.build(asked, io());
    if (artifact.type !== "folder") throw new Error("no folder");
    writeFileSync(join(artifact.folder, "left-over"), "");
    await suite.engine.build(asked, io());
    expect(readdirSync(artifact.folder)).toEqual([]);
  });

  test("leaves no folder when it fails, and says why in the builder's words", async () => {
    const failure = new DomainError("deploy.build_failed", "npm ended with exit code 1.");
    for (const [cause, expected] of [
      [failure, failure.message],
      [new Error("secret detail"), expect.not.stringContaining("secret")],
    ] as const) {
      await suite.reopen({ builder: { build: () => Promise.reject(cause) } });
      const asked = request();
      const building = suite.engine.build(asked, io());
      await expect(building).rejects.toMatchObject({ code: "deploy.build_failed", message: expected });
      expect(readdirSync(resourcePaths(suite.world.dataFolder, "app").releases)).toEqual([]);
    }
  });

  test("finds its cache again, unless it is forced", async () => {
    const seen: string[][] = [];
    await suite.reopen({
      builder: {
        async build(_request, _io, { cacheFolder, releaseFolder, user, home }) {
          seen.push(readdirSync(cacheFolder));
          writeFileSync(join(cacheFolder, "cached"), "");
          expect(statSync(home).uid).toBe(user?.uid ?? process.getuid?.());
          const run = { type: "shell", script: "true" } as const;
          return { type: "folder", folder: releaseFolder, workingFolder: releaseFolder, run, detected: "test" };
        },
      },
    });
    await suite.engine.build(request(), io());
    await suite.engine.build(request(), io());
    await suite.engine.build(request({ isForced: true }), io());
    expect(seen).toEqual([[], ["cached"], []]);
  });
});

test("takes no identifier that could lead out of its folder", async () => {
  for (const uuid of ["..", "../x", "a/b", "", "A", ".trash", "x".repeat(65)]) {
    const ref = { resourceUuid: uuid, deploymentUuid: "d" };
    await expect(suite.engine.build(request(ref), io())).rejects.toMatchObject({ code: "engine.failed" });
    await expect(suite.engine.remove(ref)).rejects.toMatchObject({ code: "engine.failed" });
    const removing = suite.engine.removeResource(uuid, { deleteVolumes: true });
    await expect(removing).rejects.toMatchObject({ code: "engine.failed" });
  }
});

test("removes all of a resource, but its storages only when asked", async () => {
  const storages: StorageMount[] = [{ type: "volume", uuid: "s-1", name: "data", mountPath: "data" }];
  for (const ref of [newRef(), newRef()]) await suite.engine.start(await newSpec({ run: RUN, ref, storages }), io());
  await suite.engine.removeResource("app", { deleteVolumes: false });
  expect(await suite.engine.list()).toEqual([]);
  const { folder } = resourcePaths(suite.world.dataFolder, "app");
  expect(readdirSync(folder)).toEqual(["storages"]);
  await suite.engine.removeResource("app", { deleteVolumes: true });
  await suite.engine.removeResource("app", { deleteVolumes: true });
  expect(existsSync(folder)).toBe(false);
});

test("removes also what the application has protected from writing", async () => {
  const spec = await newSpec({ run: RUN });
  await suite.engine.start(spec, io());
  const script = "mkdir -p cache/deep && echo x >cache/deep/file && chmod -R a-w cache";
  await suite.engine.exec(spec, script, { timeoutSeconds: 20 });
  await suite.engine.remove(spec, { graceSeconds: 1 });
  expect(() => lstatSync(folderOf(spec))).toThrow(/ENOENT/);
  expect(suite.world.warnings).toEqual([]);
});
