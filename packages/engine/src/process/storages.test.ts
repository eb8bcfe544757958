import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReleaseSpec, StorageMount } from "@berth/core/deploy";
import { isRoot } from "@berth/host";
import { describe, expect, test } from "vitest";
import { resourcePaths, storageFolder } from "./paths.ts";
import { io } from "./process.fixture.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec } = suite;
const RUN = "exec sleep 300";

function folderOf({ artifact }: ReleaseSpec): string {
  if (artifact.type !== "folder") throw new Error("The process engine builds folders.");
  return artifact.folder;
}

describe("storages", () => {
  const mounted = (mountPath: string, files: Readonly<Record<string, string>> = { "index.js": "" }) =>
    newSpec({ run: RUN, files, storages: [{ type: "volume", uuid: "s-1", name: "My data", mountPath }] });
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

describe("files", () => {
  const conf = (mountPath: string, content = "a=1\n"): StorageMount => ({
    ...{ type: "file", uuid: "f-1", name: mountPath.slice(1), mountPath },
    content,
  });
  const outputOf = async (spec: ReleaseSpec, script: string) =>
    (await suite.engine.exec(spec, script, { timeoutSeconds: 20 })).output;

  test("appear at their path in the place of the repository's, readable by nobody else", async () => {
    const files = { "conf/app.conf": "repository", "conf/other": "stays" };
    const spec = await newSpec({ run: RUN, files, storages: [conf("/app/conf/app.conf")] });
    await suite.engine.start(spec, io());
    expect(await outputOf(spec, "cat conf/app.conf conf/other; stat -Lc %a conf/app.conf")).toBe("a=1\nstays600\n");
    await suite.engine.stop(spec, { graceSeconds: 1 });
    await suite.engine.start({ ...spec, storages: [conf("/app/conf/app.conf", "a=2\n")] }, io());
    expect(await outputOf(spec, "cat conf/app.conf")).toBe("a=2\n");
  });

  test("outside of /app are found by their variable", async () => {
    const spec = await newSpec({ run: RUN, storages: [conf("/etc/app.conf")] });
    await suite.engine.start(spec, io());
    expect(await outputOf(spec, 'cat "$BERTH_STORAGE_ETC_APP_CONF"; basename "$BERTH_STORAGE_ETC_APP_CONF"')).toBe(
      "a=1\napp.conf\n",
    );
  });

  test("and volumes lie inside of volumes", async () => {
    const volumes: StorageMount[] = [
      { type: "volume", uuid: "v-1", name: "data", mountPath: "/app/data" },
      { type: "volume", uuid: "v-2", name: "deep", mountPath: "/app/data/sub/deep" },
    ];
    const outside: StorageMount = { type: "volume", uuid: "v-3", name: "var", mountPath: "/var/x" };
    const storages = [...volumes, conf("/app/data/sub/app.conf"), outside];
    const spec = await newSpec({ run: RUN, storages });
    await suite.engine.start(spec, io());
    expect(await outputOf(spec, "cat data/sub/app.conf; echo x >data/sub/deep/file")).toBe("a=1\n");
    const paths = resourcePaths(suite.world.dataFolder, "app");
    expect(readdirSync(storageFolder(paths, "v-2"))).toEqual(["file"]);
    expect(readdirSync(storageFolder(paths, "v-1"))).toEqual(["sub"]);
  });

  test("are refused where a folder of the application is", async () => {
    const spec = await newSpec({ run: RUN, files: { "conf/x": "" }, storages: [conf("/app/conf")] });
    await expect(suite.engine.start(spec, io())).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: expect.not.stringContaining("a=1"),
    });
  });

  test("go with their release", async () => {
    const spec = await newSpec({ run: RUN, storages: [conf("/app/app.conf")] });
    await suite.engine.start(spec, io());
    const { files } = resourcePaths(suite.world.dataFolder, "app");
    expect(readdirSync(files)).toContain(spec.deploymentUuid);
    await suite.engine.remove(spec, { graceSeconds: 1 });
    expect(readdirSync(files)).not.toContain(spec.deploymentUuid);
  });
});

describe("folders of the server", () => {
  const mounted = (hostPath: string, files: Readonly<Record<string, string>> = {}) =>
    newSpec({
      run: RUN,
      files,
      storages: [{ type: "folder", uuid: "h-1", name: "shared", mountPath: "/app/shared", hostPath }],
    });

  test("are linked as they are, and nothing of the repository is copied into them", async () => {
    const folder = join(suite.world.root, "shared");
    mkdirSync(folder);
    chmodSync(suite.world.root, 0o755);
    writeFileSync(join(folder, "file"), "of the server");
    const spec = await mounted(folder, { "shared/seed": "" });
    await suite.engine.start(spec, io());
    const { output } = await suite.engine.exec(spec, 'cat shared/file; echo "=$BERTH_STORAGE_SHARED"', {
      timeoutSeconds: 20,
    });
    expect(output).toBe(`of the server=${folder}\n`);
    expect(readdirSync(folder)).toEqual(["file"]);
  });

  test("that are not there, or closed to the application's user, are named", async () => {
    const closed = join(suite.world.root, "closed");
    mkdirSync(closed, { mode: 0o700 });
    const folders = isRoot() ? ["/no/such/folder", closed] : ["/no/such/folder"];
    for (const folder of folders) {
      await expect(suite.engine.start(await mounted(folder), io())).rejects.toMatchObject({
        code: "deploy.start_failed",
        message: expect.stringContaining(folder),
      });
    }
  });
});
