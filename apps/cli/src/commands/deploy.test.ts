import { describe, expect, test } from "vitest";
import { answering, Refusal, ranWith } from "../answers.fixture.ts";
import { linkPath, readLinks, saveLink } from "../application-link.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";

test("a folder in place of a repository's address is refused, and both that could be meant are named", async () => {
  using folder = temporaryFolder({ "site/index.html": "" });
  const ran = await ranWith({}, ["deploy", "--git", "./site"], { cwd: folder.path });
  expect([ran.exitCode, ran.called]).toEqual([2, []]);
  expect(ran.stderr).toContain("berth deploy ./site\n");
  expect(ran.stderr).toContain(`berth deploy --git file://${folder.path}/site\n`);
});

test("a variable whose name is not allowed is refused before anything is made", async () => {
  using folder = temporaryFolder({ "index.html": "" });
  const ran = await ranWith({}, ["deploy", ".", "--name", "site", "-e", "9X=1"], { cwd: folder.path });
  expect([ran.exitCode, ran.called]).toEqual([2, []]);
  expect(ran.stderr).toContain("9X cannot be the name of a variable. Only letters, digits,");
});

test.each([
  ["--server", "web-2"],
  ["--environment", "staging"],
  ["--project", "Shop"],
])("another place than the application's, by %s, is refused, and how to move it is said", async (flag, place) => {
  using folder = temporaryFolder({ "index.html": "" });
  const application = {
    ...{ uuid: "a1", name: "shop", source: "git", urls: [], destination: { server: { name: "web-1" } } },
    ...{ project_uuid: "p1", environment_uuid: "e1", environment_name: "production", server_uuid: "s1" },
  };
  const answers = {
    "applications.list": () => [application],
    "applications.get": () => application,
    "projects.list": () => [{ uuid: "p1", name: "My project" }],
  };
  const ran = await ranWith(answers, ["deploy", "--app", "shop", flag, place], { cwd: folder.path });
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining(`berth move shop ${flag} ${place}\n`)]);
});

describe("a folder that was not deployed as the application of its --name", () => {
  const place = { uuid: "p1", name: "My project", environments: [{ uuid: "e1", name: "production" }] };
  const application = { name: "shop", source: "upload", project_uuid: "p1", environment_uuid: "e1" };
  const answers = {
    "projects.list": () => [place],
    "projects.get": () => place,
    "applications.list": () => [{ ...application, uuid: "a1", environment_name: "production" }],
  };
  const deployed = async (words: readonly string[], typed?: string) => {
    // Without a file to upload, the command ends where it would begin to.
    using folder = temporaryFolder({});
    const at = { cwd: folder.path, ...(typed === undefined ? {} : { input: `${typed}\n`, isTerminal: true }) };
    const { stdout, stderr } = await ranWith(answers, ["deploy", ...words, "--name", "shop"], at);
    const isSaid = stdout.includes(`shop is in My project/production: deploying it again from ${folder.path}`);
    const isSent = stdout.includes("Undo it with: berth rollback shop\n") && stderr.includes("contains no files");
    return { isSaid, isAsked: stderr.includes("Continue? [y/N]"), isSent };
  };

  test.each<[string, readonly string[], string | undefined, boolean, boolean]>([
    ["is asked about at a terminal, and left out", [], "n", true, false],
    ["is asked about at a terminal, and sent", [], "y", true, true],
    ["is sent without a question where it is named", ["."], "", false, true],
    ["is sent without a question where nobody could answer, as in a CI job", [], undefined, false, true],
  ])("%s", async (_title, words, typed, isAsked, isSent) => {
    expect(await deployed(words, typed)).toEqual({ isSaid: true, isAsked, isSent });
  });

  test("on another server is refused before anything is said of a deployment, or of undoing one", async () => {
    using folder = temporaryFolder({ "index.html": "" });
    const own = { server_uuid: "s1", destination: { server: { name: "docker" } } };
    const located = { ...answers, "applications.get": () => ({ ...application, ...own, uuid: "a1" }) };
    const words = ["deploy", ".", "--name", "shop", "--server", "web-2"];
    const ran = await ranWith(located, words, { cwd: folder.path });
    expect([ran.exitCode, ran.stdout]).toEqual([2, ""]);
    expect(ran.stderr).toContain("shop is on the server docker and is not moved by --server.");
  });
});

describe("a folder that is deployed to another application with --app", () => {
  async function deployed(linked: string | undefined, isAccepted: boolean) {
    using folder = temporaryFolder({ "index.html": "" });
    const named = (uuid: string) => ({ uuid, name: `app-${uuid}`, source: "upload", environment_name: "x", urls: [] });
    const answers = {
      "applications.list": () => [named("dock")],
      "applications.get": ({ uuid }: Readonly<Record<string, unknown>>) => {
        if (uuid === "gone") throw new Refusal("Application not found.", "not_found", 404);
        return named(String(uuid));
      },
      deploy: () => {
        if (!isAccepted) throw new Refusal("The server is not reachable.", "server.unreachable");
        return { deployments: [{ deployment_uuid: "d1", resource_uuid: "dock", message: "Queued." }] };
      },
    };
    await using server = await answering(answers, (reply) => void reply.writeHead(204).end());
    if (linked !== undefined) await saveLink(folder.path, { url: server.url, uuid: linked, name: `app-${linked}` });
    const ran = await server.run(["deploy", folder.path, "--app", "app-dock", "--detach"]);
    const links = (await readLinks(folder.path)) ?? [];
    const remains = `${folder.path} remains the folder of app-static: --app is for this deployment only.\n`;
    return {
      exitCode: ran.exitCode,
      link: links.map(({ uuid }) => uuid).join(),
      isRemembered: ran.stdout.includes(`Remembered it in ${linkPath(folder.path)}\n`),
      isKept: ran.stdout.includes(remains),
    };
  }

  test.each<[string, string | undefined, boolean, object]>([
    ["remains that of its own one", "static", true, { link: "static", isRemembered: false, isKept: true }],
    ["is remembered where it has none", undefined, true, { link: "dock", isRemembered: true, isKept: false }],
    ["is remembered where its own one is deleted", "gone", true, { link: "dock", isRemembered: true, isKept: false }],
    ["says nothing where it is its own", "dock", true, { link: "dock", isRemembered: false, isKept: false }],
    ["is not remembered where nothing is deployed", undefined, false, { link: "", isRemembered: false, isKept: false }],
  ])("%s", async (_what, linked, isAccepted, expected) => {
    expect(await deployed(linked, isAccepted)).toEqual({ exitCode: isAccepted ? 0 : 1, ...expected });
  });
});

describe("a folder that only a compose file says how to start", () => {
  const place = { uuid: "p1", name: "My project", environments: [{ uuid: "e1", name: "production" }] };
  const server = (engine: string) => ({
    ...{ uuid: engine, name: engine, engine, is_coolify_host: true, swarm_cluster: null },
    settings: { is_build_server: false, is_reachable: true, is_usable: true },
  });
  const deployed = async (engines: readonly string[], files: readonly string[], words: readonly string[] = []) => {
    using folder = temporaryFolder(Object.fromEntries(files.map((file) => [file, "services: {}\n"])));
    const made: unknown[] = [];
    const answers = {
      "servers.list": () => engines.map(server),
      "projects.list": () => [place],
      "projects.get": () => place,
      "applications.list": () => [],
      "applications.createUpload": (input: object) => {
        made.push(input);
        return { uuid: "a1" };
      },
    };
    // The server refuses the variable, with which the command ends before it uploads.
    return { ...(await ranWith(answers, ["deploy", ...words, "-e", "A=1"], { cwd: folder.path })), made };
  };

  test("is run by it where a server has Docker", async () => {
    const { made, stdout } = await deployed(["docker", "process"], ["api/main.txt", "docker-compose.yml"]);
    const settings = { build_pack: "dockercompose", docker_compose_location: "/docker-compose.yml" };
    expect(made).toEqual([expect.objectContaining({ ...settings, server_uuid: "docker" })]);
    expect(stdout).toContain("so docker-compose.yml runs it.\n");
    const several = await deployed(["docker"], ["docker-compose.yml", "compose.yaml"]);
    expect(several.made).toEqual([expect.objectContaining({ docker_compose_location: "/compose.yaml" })]);
  });

  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ["where no server has Docker", ["process"], ["compose.yml"], []],
    ["where the named server has none", ["docker", "process"], ["compose.yml"], ["--server", "process"]],
    ["in another folder of it", ["docker"], ["deploy/compose.yml"], []],
  ])("is refused, and nothing is made of it, %s", async (_where, engines, files, words) => {
    const { made, exitCode, stderr } = await deployed(engines, files, words);
    expect([made, exitCode, stderr]).toEqual([[], 1, expect.stringContaining("It is not clear how to start this")]);
  });

  test("is started as another file says, where one does", async () => {
    const { made } = await deployed(["docker"], ["compose.yml", "index.html"]);
    expect(made).toEqual([expect.not.objectContaining({ build_pack: "dockercompose" })]);
  });
});

describe("a repository whose branch is not named", () => {
  const place = { uuid: "p1", name: "My project", environments: [{ uuid: "e1", name: "production" }] };
  const git = "https://git.example/acme/shop.git";
  const deployed = async (applications: readonly object[]) => {
    const made: unknown[] = [];
    const answers = {
      "servers.list": () => [
        {
          ...{ uuid: "s1", name: "localhost", engine: "process", is_coolify_host: true, swarm_cluster: null },
          settings: { is_build_server: false, is_reachable: true, is_usable: true },
        },
      ],
      "projects.list": () => [place],
      "projects.get": () => place,
      "applications.list": () => applications,
      "applications.createPublic": (input: object) => {
        made.push(input);
        return { uuid: "a2" };
      },
    };
    return { ...(await ranWith(answers, ["deploy", "--git", git], { cwd: "/tmp" })), made };
  };

  test("is made with its default branch, which the server asks for", async () => {
    expect((await deployed([])).made).toEqual([expect.objectContaining({ git_repository: git, git_branch: "HEAD" })]);
  });

  test("is the application of it, whatever its branch", async () => {
    const known = { uuid: "a1", name: "shop", source: "git", git_repository: git, git_branch: "trunk" };
    const { made, stdout } = await deployed([{ ...known, project_uuid: "p1", environment_name: "production" }]);
    expect([made, stdout]).toEqual([[], expect.stringContaining("deploying it again.")]);
  });
});
