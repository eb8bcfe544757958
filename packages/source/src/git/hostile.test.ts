import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDomainError } from "@berth/core";
import type { SourceSpec } from "@berth/core/ports";
import { basicCredentials } from "@berth/core/source";
import { createRepository, hostileValues, startGitServer, type TestRepository } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sourceFetcher } from "./fetcher.ts";

// Each value would make a file called `marker` if any part of it were ever run or taken for an option.
let base: string;
let marker: string;
let repository: TestRepository;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "berth-hostile-"));
  marker = join(base, "marker");
  repository = createRepository(join(base, "repos", "app"));
  repository.commit({ a: "1" });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

async function refusalOf(fields: Partial<Extract<SourceSpec, { type: "git" }>>, isLocal = true): Promise<string> {
  const source = sourceFetcher({
    folder: join(base, "sources"),
    allowFileProtocol: isLocal,
    allowedPrivateHosts: ["127.0.0.1"],
  });
  const spec: SourceSpec = {
    type: "git",
    repository: repository.url,
    branch: "main",
    commit: "HEAD",
    cacheOwner: "team 1",
    ...fields,
  };
  const io = { signal: new AbortController().signal, onLine: () => {} };
  const error = await source.checkout(spec, "d1", io).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isDomainError(error)) throw new Error("Expected a DomainError", { cause: error });
  expect(existsSync(marker)).toBe(false);
  expect(existsSync(join(base, "sources", "checkouts", "d1"))).toBe(false);
  return `${error.code} ${error.message}`;
}

const payloads = (file: string) => hostileValues(file).map(({ value }) => value);

describe("runs nothing", () => {
  test("of a hostile address", async () => {
    const addresses = [
      ...payloads(marker),
      `ext::sh -c "touch ${marker}"`,
      `ext::touch% ${marker}`,
      `fd::17/foo`,
      `file://${repository.folder};touch ${marker}`,
      `ssh://-oProxyCommand=touch\${IFS}${marker}/x`,
      `ssh://git@-oProxyCommand=touch%20${marker}/x`,
      `-oProxyCommand=touch@127.0.0.1:x`,
      `git@-oProxyCommand=touch:x`,
      `git@127.0.0.1:--upload-pack=touch`,
      `git@127.0.0.1:$(touch\${IFS}${marker})`,
      `https://127.0.0.1:1/a\nhost:x`,
      `https://[::1]:1/--upload-pack=x`,
      `http://127.0.0.1:1/a%0a.git`,
      `/${repository.folder}`,
      repository.folder,
      `../repos/app`,
      `file:${repository.folder}`,
      `file://localhost.example/${repository.folder}`,
    ];
    for (const address of addresses) {
      expect(await refusalOf({ repository: address }), address).toMatch(/^source\.(invalid|not_found|unreachable) /);
    }
  });

  test("of a hostile branch", async () => {
    for (const branch of payloads(marker)) {
      expect(await refusalOf({ branch }), branch).toMatch(/^source\.(invalid|not_found) /);
    }
  });

  test("of a hostile commit", async () => {
    for (const commit of [...payloads(marker), "--all", "-n1", ":/x", "HEAD@{1}", "main..x"]) {
      expect(await refusalOf({ commit }), commit).toMatch(/^source\.(invalid|not_found) /);
    }
  });

  test("of a hostile login", async () => {
    const asked: string[] = [];
    const server = await startGitServer({
      root: join(base, "repos"),
      login: { username: "x", password: "y" },
      intercept: (request) => {
        asked.push(request.headers.authorization ?? "");
        return false;
      },
    });
    try {
      for (const value of [...payloads(marker), `'; touch ${marker}; '`, `"$(touch ${marker})"`, "a\r\nb", "%s%n\\n"]) {
        const credentials = basicCredentials([server.url], { username: value, password: value });
        const refusal = await refusalOf({ repository: `${server.url}/app/.git`, credentials });
        expect(refusal).toMatch(/^source\.(invalid|unauthorized) /);
        // It was sent unchanged, or the line break in it was refused.
        const sent = Buffer.from(`${value}:${value}`).toString("base64");
        if (!/[\r\n\0]/.test(value)) expect(asked).toContain(`Basic ${sent}`);
      }
    } finally {
      await server.close();
    }
  });

  test("of a repository's hooks, filters, drivers and configuration", async () => {
    const script = `#!/bin/sh\ntouch ${marker}\n`;
    repository.commit({
      ".gitattributes": "* filter=evil diff=evil merge=evil text eol=lf\n",
      ".gitconfig": `[core]\n\tfsmonitor = touch ${marker}\n`,
      ".lfsconfig": `[lfs]\n\turl = ext::touch ${marker}\n`,
      "hooks/post-checkout": { script },
      evil: "1",
    });
    const hooks = join(repository.folder, ".git", "hooks");
    mkdirSync(hooks, { recursive: true });
    for (const hook of ["post-checkout", "post-update", "pre-receive", "reference-transaction", "fsmonitor"]) {
      writeFileSync(join(hooks, hook), script, { mode: 0o755 });
    }
    for (const [name, value] of [
      ["filter.evil.smudge", `touch ${marker}`],
      ["core.fsmonitor", `touch ${marker}`],
      ["core.sshCommand", `touch ${marker}`],
      ["uploadpack.packObjectsHook", `touch ${marker}`],
      ["core.alternateRefsCommand", `touch ${marker}`],
      ["tar.tar.gz.command", `touch ${marker}`],
    ] as const) {
      repository.git("config", name, value);
    }
    const source = sourceFetcher({ folder: join(base, "sources"), allowFileProtocol: true });
    const spec: SourceSpec = {
      type: "git",
      repository: repository.url,
      branch: "main",
      commit: "HEAD",
      cacheOwner: "team 1",
    };
    const io = { signal: new AbortController().signal, onLine: () => {} };
    const { folder } = await source.checkout(spec, "d1", io);
    expect(readdirSync(folder)).toContain("evil");
    expect(existsSync(marker)).toBe(false);
  });

  test("of the environment and configuration of the user who runs Berth", async () => {
    const { HOME, GIT_SSH_COMMAND, GIT_CONFIG_COUNT, GIT_DIR } = process.env;
    const home = join(base, "home");
    mkdirSync(home);
    writeFileSync(
      join(home, ".gitconfig"),
      `[core]\n\tsshCommand = touch ${marker}\n[url "ext::touch ${marker} "]\n\tinsteadOf = file://\n`,
    );
    Object.assign(process.env, { HOME: home, GIT_SSH_COMMAND: `touch ${marker}`, GIT_DIR: base });
    try {
      const source = sourceFetcher({ folder: join(base, "sources"), allowFileProtocol: true });
      const spec: SourceSpec = {
        type: "git",
        repository: repository.url,
        branch: "main",
        commit: "HEAD",
        cacheOwner: "team 1",
      };
      await source.checkout(spec, "d1", { signal: new AbortController().signal, onLine: () => {} });
      expect(existsSync(marker)).toBe(false);
    } finally {
      for (const [name, value] of Object.entries({ HOME, GIT_SSH_COMMAND, GIT_CONFIG_COUNT, GIT_DIR })) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });
});

describe("a hostile .gitmodules", () => {
  const module = (path: string, url: string) => `[submodule "x"]\n\tpath = ${path}\n\turl = ${url}\n`;

  function addModule(path: string, url: string): void {
    const commit = repository.git("rev-parse", "HEAD");
    writeFileSync(join(repository.folder, ".gitmodules"), module(path, url));
    repository.git("add", ".gitmodules");
    repository.git("update-index", "--add", "--cacheinfo", `160000,${commit},sub`);
    repository.git("commit", "--quiet", "--message", "Add a submodule");
  }

  test.each([
    ["ext::sh -c 'touch marker'"],
    ["-u./payload"],
    ["--upload-pack=touch"],
    ["ssh://-oProxyCommand=touch/x"],
    ["../../../../../../../../../../x"],
    ["/etc"],
    ["https://127.0.0.2:1/private"],
    ["http://169.254.169.254/latest"],
  ])("cannot name the address %s", async (url) => {
    addModule("sub", url);
    expect(await refusalOf({})).toMatch(/^source\.(invalid|not_found) /);
  });

  test.each(["../out", "/tmp/out", "a/../../out", "-x"])("cannot name the path %s", async (path) => {
    addModule(path, "../app");
    expect(await refusalOf({})).toMatch(/^source\.invalid The submodule ".+" has a path that leaves the repository/);
    expect(existsSync(join(base, "sources", "checkouts", "out"))).toBe(false);
  });

  test("that is no configuration is refused", async () => {
    repository.commit({ ".gitmodules": "[[[ not a config" });
    expect(await refusalOf({})).toContain("The file .gitmodules cannot be read");
  });

  test("cannot send one into a circle", async () => {
    addModule("sub", "../app");
    const tip = repository.git("rev-parse", "HEAD");
    // Each commit has the previous one as its submodule.
    for (let depth = 0; depth < 12; depth++) {
      const last = repository.git("rev-parse", "HEAD");
      repository.git("update-index", "--add", "--cacheinfo", `160000,${last},sub`);
      repository.git("commit", "--quiet", "--message", `Depth ${depth}`);
    }
    expect(tip).toHaveLength(40);
    expect(await refusalOf({})).toContain("Submodules are nested more than 10 levels deep");
  });
});
