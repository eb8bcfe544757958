import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ReleaseSpec, StorageMount } from "@berth/core/deploy";
import { isRoot, pidsOfUser, pidsWithEnv, spawnDetached } from "@berth/host";
import { eventually } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { markerOf } from "./environment.ts";
import { filesFolder, resourcePaths, runPaths, storageFolder } from "./paths.ts";
import { io, newRef } from "./process.fixture.ts";
import { PROCESS_SETTINGS } from "./settings.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec } = suite;

const SECRET = "secret-of-the-other";
// Numbers that no other test uses: the attacker tries to kill all processes of its own user.
const [OWN_NUMBER, OTHER_NUMBER] = [90_001, 90_002];

/** Runs a script inside the first application, as an attacker would. */
async function attempt(spec: ReleaseSpec, script: string): Promise<{ exitCode: number; output: string }> {
  return suite.engine.exec(spec, script, { timeoutSeconds: 20 });
}

const mountedFile = (spec: ReleaseSpec) => {
  const paths = resourcePaths(suite.world.dataFolder, spec.resourceUuid);
  return join(filesFolder(paths, spec.deploymentUuid), "file-of-other", "conf");
};

describe.skipIf(!isRoot())("an application (of a server started by root)", () => {
  let own: ReleaseSpec;
  let other: ReleaseSpec;

  beforeEach(async () => {
    const storages: StorageMount[] = [
      { type: "volume", uuid: "storage-of-other", name: "data", mountPath: "/app/data" },
      { type: "file", uuid: "file-of-other", name: "conf", mountPath: "/app/conf", content: SECRET },
    ];
    const options = { files: { "private.txt": SECRET }, run: "exec sleep 300", env: { SECRET } };
    own = await newSpec({ ref: newRef("own"), resourceNumber: OWN_NUMBER, run: "exec sleep 300" });
    other = await newSpec({ ref: newRef("other"), resourceNumber: OTHER_NUMBER, storages, ...options });
    await suite.engine.start(own, io());
    await suite.engine.start(other, io());
    const { root } = suite.world;
    mkdirSync(join(root, "database"), { mode: 0o700 });
    writeFileSync(join(root, "database/PG_VERSION"), SECRET);
    writeFileSync(join(root, "secret.key"), SECRET, { mode: 0o600 });
    process.env.BERTH_TEST_CONTROL_PLANE = SECRET;
  });
  afterEach(() => {
    delete process.env.BERTH_TEST_CONTROL_PLANE;
  });

  const pidOf = (spec: ReleaseSpec) => pidsWithEnv(markerOf(spec))[0] ?? 0;

  test.each<[string, () => string]>([
    ["another's files", () => join(artifactFolder(other), "private.txt")],
    ["another's storage", () => storageFolder(resourcePaths(suite.world.dataFolder, "other"), "storage-of-other")],
    ["another's mounted file", () => mountedFile(other)],
    ["another's home", () => resourcePaths(suite.world.dataFolder, "other").home],
    ["another's log", () => runPaths(suite.world.dataFolder, other).log],
    ["another's variables, as they are kept", () => runPaths(suite.world.dataFolder, other).spec],
    ["its own variables, as they are kept", () => runPaths(suite.world.dataFolder, own).spec],
    ["another's variables, as its process has them", () => `/proc/${pidOf(other)}/environ`],
    ["the control plane's variables", () => `/proc/${process.pid}/environ`],
    ["which applications there are", () => suite.world.dataFolder],
    ["what other releases there are", () => dirname(artifactFolder(own))],
    ["the database", () => join(suite.world.root, "database/PG_VERSION")],
    ["the key of all secrets", () => join(suite.world.root, "secret.key")],
  ])("cannot read %s", async (_, path) => {
    const { exitCode, output } = await attempt(own, `ls -l '${path()}' && cat '${path()}'/* || cat '${path()}'`);
    expect(exitCode).not.toBe(0);
    expect(output).toMatch(/Permission denied|No such file/);
    expect(output).not.toContain(SECRET);
  });

  test("finds none of the control plane's variables in its own", async () => {
    const { output } = await attempt(own, "env");
    const names = output.split("\n").flatMap((line) => line.split("=")[0] ?? []);
    const given = ["BERTH_DEPLOYMENT_UUID", "HOME", "HOST", "PATH", "PORT", "TMPDIR"];
    const ofTheShell = ["PWD", "OLDPWD", "_", "SHLVL"];
    expect(names.filter((name) => name !== "" && !ofTheShell.includes(name)).sort()).toEqual(given);
  });

  test("has its variables as they are, and the programs that start it have none of them", async () => {
    const VALUE = `a'b"c\n$HOME \`id\` \\ é`;
    const env = { VALUE, IFS: "E", name: "x", LD_DEBUG: "statistics", LD_DEBUG_OUTPUT: "loader" };
    const run = "unset LD_DEBUG; env -0 >seen; ls -l /proc/$$/fd >fds; exec sleep 300";
    const spec = await newSpec({ ref: newRef("vars"), resourceNumber: OWN_NUMBER, env, run });
    await suite.engine.start(spec, io());
    const files = () => readFileSync(join(artifactFolder(spec), "fds"), "utf8");
    await eventually(() => expect(files()).toContain(" 2 -> "));
    expect(files()).not.toContain("/result");
    const seen = readFileSync(join(artifactFolder(spec), "seen"), "utf8").split("\0");
    expect(seen).toEqual(expect.arrayContaining([`VALUE=${VALUE}`, "name=x", "LD_DEBUG_OUTPUT=loader"]));
    expect(seen.filter((entry) => entry.startsWith("BERTH_")).map((entry) => entry.split("=")[0])).toEqual([
      "BERTH_DEPLOYMENT_UUID",
    ]);
    // The loader leaves a file for each program that it loads: only for the application's shell.
    expect(readdirSync(artifactFolder(spec)).filter((name) => name.startsWith("loader"))).toHaveLength(1);
  });

  test("can read and write what is its own", async () => {
    const script = `echo x >"$HOME/x" && echo x >"$TMPDIR/x" && echo x >x && id -u && id -G && node -p 1+1`;
    const { exitCode, output } = await attempt(own, script);
    expect([exitCode, output]).toEqual([0, "790001\n790001\n2\n"]);
  });

  test("cannot signal another's processes or the control plane", async () => {
    const { output } = await attempt(own, `kill -9 ${pidOf(other)}; kill -9 ${process.pid}; kill -9 -1; true`);
    expect(output).toMatch(/not permitted/);
    expect((await suite.engine.inspect(other))?.state).toBe("running");
  });

  test("cannot change Node or npm for the others", async () => {
    const { exitCode } = await attempt(own, `echo evil >>"$(command -v npm)" || rm "$(command -v node)"`);
    expect(exitCode).not.toBe(0);
  });

  test("gets no rights from programs that give some", async () => {
    const { output } = await attempt(own, "grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status | cut -f2");
    expect(output).toBe("0000000000000000\n0000000000000000\n1\n");
  });

  test("leaves nothing running when its resource is removed, whatever it hides behind", async () => {
    await attempt(own, "env -i setsid sleep 300 >/dev/null 2>&1 &");
    // Like a daemon that a build started before there was a release: in none of our groups.
    const uid = PROCESS_SETTINGS.uidBase + OWN_NUMBER;
    const stray = await spawnDetached(["/bin/sleep", "300"], { env: {}, user: { uid, gid: uid } });
    await suite.engine.removeResource("own", { deleteVolumes: true });
    expect(pidsOfUser(uid)).toEqual([]);
    expect(await stray.exitCode).toBe(143);
    expect((await suite.engine.inspect(other))?.state).toBe("running");
  });

  test("takes no files along when a folder of its release becomes a link before it is removed", async () => {
    const victim = join(suite.world.root, "victim");
    mkdirSync(victim);
    writeFileSync(join(victim, "file"), "keep");
    await attempt(own, `ln -s '${victim}' link; rm -rf "$TMPDIR"/*; ln -s '${victim}' "$HOME/link"`);
    await suite.engine.removeResource("own", { deleteVolumes: true });
    expect(readdirSync(victim)).toEqual(["file"]);
  });
});

test.skipIf(isRoot())("NOT_SUPPORTED isolation: the server was not started by root", () => {});

function artifactFolder({ artifact }: ReleaseSpec): string {
  if (artifact.type !== "folder") throw new Error("The process engine builds folders.");
  return artifact.folder;
}
