// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a script of the shell.
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRoot, pidsWithEnv } from "@berth/host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasEngine, type ImageSuite, imageSuite } from "./image.fixture.ts";

const SECRET = "secret-of-the-instance";

/** What a source can make a build tool do: it executes programs that the source names. */
const TOOL = [
  "#!/bin/sh",
  'for option; do case "$option" in --out=*) out="${option#--out=}";; esac; done',
  'mkdir -p "$out/.nixpacks"',
  `printf 'FROM alpine:3\\nCOPY . /app\\nCMD ["cat","/app/seen"]\\n' >"$out/.nixpacks/Dockerfile"`,
  '. "$2/attack.sh" >"$out/seen" 2>&1',
  "exit 0",
].join("\n");

describe.skipIf(!hasEngine || !isRoot())(
  "a build tool that the source controls (of a server started by root)",
  {
    timeout: 60_000,
  },
  () => {
    let suite: ImageSuite;
    beforeAll(() => {
      suite = imageSuite();
      const bin = join(suite.folder, "bin");
      mkdirSync(bin);
      writeFileSync(join(bin, "nixpacks"), TOOL);
      chmodSync(join(bin, "nixpacks"), 0o755);
      writeFileSync(join(suite.folder, "secret.key"), SECRET, { mode: 0o600 });
      writeFileSync(join(suite.folder, "world-readable"), SECRET);
      mkdirSync(join(suite.folder, "database"), { mode: 0o700 });
      writeFileSync(join(suite.folder, "database/PG_VERSION"), SECRET);
      process.env.BERTH_TEST_CONTROL_PLANE = SECRET;
      Object.assign(suite, { builder: suite.withPath(`${bin}:/usr/local/bin:/usr/bin:/bin`) });
    });
    afterAll(async () => {
      delete process.env.BERTH_TEST_CONTROL_PLANE;
      await suite.close();
    });

    const attack = (script: string) => suite.build({ "attack.sh": script, mine: "own" }, { build_pack: "nixpacks" });
    const seen = async (script: string) => suite.output((await attack(script)).image);

    test("reads its own source, and nothing of the data folder, of Berth's processes or of root's files", async () => {
      const output = await seen(
        [
          'cat "$2/mine"; echo',
          `cat ${suite.folder}/secret.key ${suite.folder}/world-readable ${suite.folder}/database/PG_VERSION /etc/shadow`,
          `ls ${suite.folder} ${suite.folder}/builds ${suite.folder}/source-1`,
          `tr '\\0' '\\n' </proc/${process.pid}/environ`,
        ].join("\n"),
      );
      expect(output).toMatch(/^own$/m);
      expect(output).not.toContain(SECRET);
      expect(output).not.toMatch(/^root:|hash-key|database$/m);
    });

    test("runs as the application's own user, without rights or a way to gain any", async () => {
      const output = await seen("id -u; id -G; grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status | cut -f2");
      expect(output).toBe("700001\n700001\n0000000000000000\n1\n");
    });

    test("leaves nothing in places that other programs trust, and no process", async () => {
      const places = ["/tmp", "/var/tmp", "/dev/shm"].map((folder) => `${folder}/berth-hostile-tool`);
      const output = await seen(
        `for file in ${places.join(" ")}; do echo x >$file && echo written; done
       env -i setsid sleep 300 >/dev/null 2>&1 & setsid sleep 300 >/dev/null 2>&1 &`,
      );
      expect(output).toBe("written\n".repeat(3));
      expect(places.filter((file) => existsSync(file))).toEqual([]);
      expect(pidsWithEnv(`BERTH_BUILD=d3-${suite.resourceUuid}`)).toEqual([]);
      expect(readdirSync(join(suite.folder, "apps/.workplaces"))).toEqual([]);
      expect(readdirSync(join(suite.folder, "builds")).filter((name) => name !== "hash-key")).toEqual([]);
    });

    test("is stopped at the limit of processes", async () => {
      const limit =
        'for file in $(cut -d: -f3 /proc/self/cgroup); do case "$file" in */berth/build-*) echo limited;; esac; done';
      expect(await seen(limit)).toMatch(/^limited$/m);
    });

    test.each([
      ["its Dockerfile", 'rm "$out/.nixpacks/Dockerfile"; ln -s /etc/hostname "$out/.nixpacks/Dockerfile"'],
      ["its Dockerfile's folder", 'rm -r "$out/.nixpacks"; ln -s /etc "$out/.nixpacks"; touch "$2/Dockerfile"'],
      [
        "the build context",
        'mkdir "$out.real"; mv "$out/.nixpacks" "$out.real"; rm -r "$out"; ln -s "$out.real" "$out"',
      ],
      ["the build context, as a pipe", 'rm "$out/.nixpacks/Dockerfile"; mkfifo "$out/.nixpacks/Dockerfile"'],
    ])("cannot put a link in the place of %s", async (_what, script) => {
      await expect(attack(script)).rejects.toMatchObject({
        code: "deploy.build_failed",
        message: expect.stringContaining("nixpacks has not written its Dockerfile, or has put a link in its place."),
      });
    });
  },
);

test.skipIf(isRoot())("NOT_SUPPORTED isolation of build tools: the server was not started by root", () => {});
