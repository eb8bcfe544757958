import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type BuildRequest, DomainError, type ReleaseSpec } from "@berth/core";
import { describe, expect, test } from "vitest";
import { CONFIG } from "../builder/plan.fixture.ts";
import { resourcePaths, storageFolder } from "./paths.ts";
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

describe("storages", () => {
  const mounted = (mountPath: string, files: Readonly<Record<string, string>> = { "index.js": "" }) =>
    newSpec({ run: RUN, files, storages: [{ uuid: "s-1", name: "My data", mountPath }] });
  const storage = () => storageFolder(resourcePaths(suite.world.dataFolder, "app"), "s-1");

  test.each(["/app/data", "data", "./data/", "/app/deep/er/data"])("are linked at %s", async (mountPath) => {
    const spec = await mounted(mountPath);
    await suite.engine.start(spec, io());
    const inside = mountPath.replace(/^\/app\//, "");
    const { exitCode } = await suite.engine.exec(spec, `echo kept >'${inside}/file'`, { timeoutSeconds: 20 });
    expect(exitCode).toBe(0);
    expect(readFileSync(join(storage(), "file"), "utf8")).toBe("kept\n");
  });

  test.each(["/var/lib/data", "/app", "/", "../outside", "/app/../../outside", "."])(
    "at %s are found by their variable only",
    async (mountPath) => {
      const spec = await mounted(mountPath);
      await suite.engine.start(spec, io());
      const script = 'echo kept >"$BERTH_STORAGE_MY_DATA/file"';
      expect(await suite.engine.exec(spec, script, { timeoutSeconds: 20 })).toMatchObject({ exitCode: 0 });
      expect(readFileSync(join(storage(), "file"), "utf8")).toBe("kept\n");
      expect(readdirSync(folderOf(spec))).toEqual(["index.js"]);
    },
  );

  test("begin with what the repository has there, and hide it from then on", async () => {
    const one = await mounted("/app/data", { "data/seed.txt": "first" });
    await suite.engine.start(one, io());
    expect(readFileSync(join(storage(), "seed.txt"), "utf8")).toBe("first");
    await suite.engine.exec(one, "echo mine >data/seed.txt", { timeoutSeconds: 20 });
    const two = await mounted("/app/data", { "data/seed.txt": "second", "data/new.txt": "" });
    await suite.engine.start(two, io());
    expect(readFileSync(join(folderOf(two), "data/seed.txt"), "utf8")).toBe("mine\n");
    expect(readdirSync(storage())).toEqual(["seed.txt"]);
    await suite.engine.stop(two, { graceSeconds: 1 });
    await suite.engine.start(two, io());
    expect(readFileSync(join(folderOf(two), "data/seed.txt"), "utf8")).toBe("mine\n");
  });

  test("follow no link of the repository's", async () => {
    const victim = join(suite.world.root, "victim");
    mkdirSync(victim);
    writeFileSync(join(victim, "file"), "keep");
    const onTheWay = await mounted("/app/link/data");
    symlinkSync(victim, join(folderOf(onTheWay), "link"));
    await expect(suite.engine.start(onTheWay, io())).rejects.toMatchObject({ code: "deploy.start_failed" });
    const inPlace = await mounted("/app/link");
    symlinkSync(victim, join(folderOf(inPlace), "link"));
    await suite.engine.start(inPlace, io());
    expect(readdirSync(victim)).toEqual(["file"]);
    expect(readdirSync(storage())).toEqual([]);
  });

  test("are refused where a file of the application is", async () => {
    const spec = await mounted("/app/data", { data: "file" });
    await expect(suite.engine.start(spec, io())).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: expect.stringContaining("My data"),
    });
  });
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
  const storages = [{ uuid: "s-1", name: "data", mountPath: "data" }];
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
