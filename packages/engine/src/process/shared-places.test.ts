import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuildRequest, FolderArtifact, ReleaseSpec } from "@berth/core/deploy";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { isRoot } from "@berth/host";
import { eventually } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { processBuilder } from "../builder/process-builder.ts";
import { io, newRef, temporaryFolder } from "./process.fixture.ts";
import { processSuite } from "./suite.fixture.ts";

// User numbers that no other test uses.
const [HOSTILE, VICTIM] = [90_011, 90_012];
const SECRET = "secret-of-the-victim";

/** Writes files wherever another program might look for code, and reports where it could. */
const POISON = `
for folder in /tmp /var/tmp /dev/shm /run/lock; do
  [ -d "$folder" ] || continue
  for name in node-compile-cache pnpm yarn npm v8-compile-cache; do
    mkdir -p "$folder/$name" && echo hostile >"$folder/$name/poison" && chmod -R 777 "$folder/$name"
  done
  echo hostile >"$folder/poison" && echo "$folder"
done
`;

const OUTSIDE = ["/tmp", "/var/tmp", "/dev/shm", ...(existsSync("/run/lock") ? ["/run/lock"] : [])];
const leftOutside = () => OUTSIDE.filter((folder) => existsSync(join(folder, "poison")));

/** Lists what an application sees of others: files in shared folders, processes, folders of the server. */
const LOOK = `ls -a /tmp /var/tmp /dev/shm; ls /proc | grep -c '^[0-9]'; ls "$1" "$1/apps" 2>&1; cat /proc/[0-9]*/environ | tr '\\0' '\\n'`;

// A sandbox has a /tmp of its own, so a data folder elsewhere is hidden in another way.
describe.skipIf(!isRoot()).each([tmpdir(), "/var/lib"])("applications below %s, started by root", (parent) => {
  const suite = processSuite(parent);
  let sources: string;
  beforeEach(async () => {
    sources = temporaryFolder("berth-sources-");
    await suite.reopen({ builder: processBuilder(), instanceFolder: suite.world.root });
  });
  afterEach(() => {
    rmSync(sources, { recursive: true, force: true });
    for (const folder of OUTSIDE) rmSync(join(folder, "poison"), { force: true });
  });

  async function built(
    name: string,
    resourceNumber: number,
    { build, env = {} }: { readonly build: string; readonly env?: Record<string, string> },
  ): Promise<FolderArtifact & { readonly request: BuildRequest }> {
    const sourceFolder = join(sources, name);
    mkdirSync(sourceFolder);
    writeFileSync(join(sourceFolder, "package.json"), JSON.stringify({ name, version: "1.0.0" }));
    writeFileSync(join(sourceFolder, "index.js"), "setInterval(() => {}, 1000)");
    const config = { ...CONFIG, build_command: build, start_command: "node index.js" };
    const request: BuildRequest = { ...newRef(name), resourceNumber, sourceFolder, config, env, isForced: false };
    const artifact = await suite.engine.build(request, io());
    if (artifact.type !== "folder") throw new Error("The process engine builds folders.");
    return { ...artifact, request };
  }

  async function running(name: string, number: number, options: Parameters<typeof built>[2]): Promise<ReleaseSpec> {
    const { request, ...artifact } = await built(name, number, options);
    const { resourceUuid, deploymentUuid, resourceNumber } = request;
    const spec: ReleaseSpec = {
      ...{ resourceUuid, deploymentUuid, resourceNumber, artifact, name },
      kind: "application",
      env: options.env ?? {},
      ports: [3000],
      storages: [],
      limits: { memoryBytes: null, cpus: null },
    };
    await suite.engine.start(spec, io());
    return spec;
  }

  test("leave nothing that another executes, in a build, a release or a command", async () => {
    const hostile = await running("hostile", HOSTILE, { build: POISON });
    const { output } = await suite.engine.exec(hostile, POISON, { timeoutSeconds: 20 });
    expect(output.split("\n")).toEqual(expect.arrayContaining(OUTSIDE));
    expect(leftOutside()).toEqual([]);

    const look = "find /tmp /var/tmp /dev/shm /run/lock -name poison >found 2>/dev/null";
    const victim = await running("victim", VICTIM, { build: `${look}; cp found found-by-build` });
    await suite.engine.stop(victim, { graceSeconds: 1 });
    await suite.engine.start(victim, io());
    await suite.engine.exec(victim, look, { timeoutSeconds: 20 });
    const folder = victim.artifact.type === "folder" ? victim.artifact.folder : "";
    for (const name of ["found", "found-by-build"]) expect(readFileSync(join(folder, name), "utf8")).toBe("");
  });

  test("see no variable, file or process of another", async () => {
    await running("victim", VICTIM, { build: "true", env: { SECRET } });
    const hostile = await running("hostile", HOSTILE, { build: "true" });
    const script = `set -- '${suite.world.root}'; ${LOOK}`;
    const { output } = await suite.engine.exec(hostile, script, { timeoutSeconds: 20 });
    expect(output).not.toContain(SECRET);
    expect(output).not.toContain("victim");
    expect(output).toContain("hostile");
    // Only its own processes: the shim with its log, the application, and this command.
    expect(Number(/^\d+$/m.exec(output)?.[0])).toBeLessThan(20);
  });

  test("reach nothing of the data folder but their own, whatever its mode", async () => {
    const own = await running("own", VICTIM, { build: "true" });
    const open = join(suite.world.root, "open");
    writeFileSync(open, SECRET);
    chmodSync(open, 0o644);
    chmodSync(suite.world.root, 0o755);
    const script = `cat '${open}' 2>&1; ls -a '${suite.world.root}'`;
    const { output } = await suite.engine.exec(own, script, { timeoutSeconds: 20 });
    expect(output).toMatch(/No such file or directory/);
    expect(output).not.toMatch(new RegExp(`${SECRET}|\\bopen$`, "m"));
  });

  test("share /tmp between a release and the commands in it", async () => {
    const spec = await running("own", VICTIM, { build: "true" });
    await suite.engine.exec(spec, "echo kept >/tmp/kept", { timeoutSeconds: 20 });
    expect((await suite.engine.exec(spec, "cat /var/tmp/kept", { timeoutSeconds: 20 })).output).toBe("kept\n");
  });

  test("cannot undo their limits by variables of a build", async () => {
    const folder = temporaryFolder("berth-loader-");
    try {
      // The loader reports each program it runs, with its user.
      const env = { LD_DEBUG: "files", LD_DEBUG_OUTPUT: `${folder}/loaded` };
      const status = "grep -E '^(Uid|NoNewPrivs|CapBnd)' /proc/self/status >status";
      const { folder: release } = await built("own", VICTIM, { build: status, env });
      expect(readdirSync(folder)).toEqual([]);
      expect(readFileSync(join(release, "status"), "utf8")).toMatch(
        /^Uid:\s+790012.*\nCapBnd:\s+0+\nNoNewPrivs:\s+1$/m,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("are kept apart when the first process ends and is started again", async () => {
    const spec = await running("own", VICTIM, { build: "true" });
    const shell = (script: string) => suite.engine.exec(spec, script, { timeoutSeconds: 20 });
    await shell("touch /tmp/poison");
    await shell("kill -9 -1").catch(() => undefined);
    await eventually(async () => expect((await suite.state(spec)).restartCount).toBeGreaterThan(0));
    await eventually(async () => expect((await suite.state(spec)).state).toBe("running"));
    expect((await shell("ls /tmp/poison")).exitCode).not.toBe(0);
    await shell("touch /tmp/poison");
    expect(leftOutside()).toEqual([]);
  });
});

test.skipIf(isRoot())("NOT_SUPPORTED isolation: the server was not started by root", () => {});
