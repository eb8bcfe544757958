import { basename } from "node:path";
import type { ServiceChanges } from "@berth/core/service";
import pico from "picocolors";
import { describe, expect, test } from "vitest";
import { Refusal, ranWith } from "../answers.fixture.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";
import { showChanges } from "./services.ts";

const NONE: ServiceChanges = {
  ...{ containers: [], variables: [], storages: [], urls: [] },
  replacement: { mode: "stop_first", reason: "The old containers stop first.", containers: [] },
  needs_deployment: false,
  warnings: [],
};

function shown(changes: ServiceChanges | undefined): string {
  const lines: string[] = [];
  showChanges({ line: (text) => void lines.push(text), colors: pico.createColors(false) }, "shop", changes);
  return lines.join("\n");
}

describe("what a compose file would change", () => {
  test("is named line by line, with how what runs is replaced", () => {
    const changes: ServiceChanges = {
      containers: [
        { name: "web", change: "changed", fields: ["environment", "image"] },
        { name: "cache", change: "removed", fields: [] },
      ],
      variables: [{ key: "MODE", change: "added" }],
      storages: [{ container: "web", mount_path: "/data", change: "added" }],
      urls: [{ container: "web", before: [], after: ["https://shop.example"] }],
      replacement: NONE.replacement,
      needs_deployment: true,
      warnings: ["The volume data stays."],
    };
    expect(shown(changes)).toMatchInlineSnapshot(`
      "~ container web: environment, image
      - container cache
      + variable MODE
      + storage /data of web
      ~ URL of web: none -> https://shop.example
      With the next deployment: The old containers stop first.
      The volume data stays."
    `);
  });

  test("says of each container that stays how it is replaced, and why", () => {
    const actions = [
      ["web", "candidate_first", "The new container starts beside the old one."],
      ["store", "stop_first", "The old one stops before the new one starts, since it is a database."],
      ["mail", "kept", "Neither its definition nor its input has changed."],
      ["jobs", "added", "It is a new container."],
      ["old", "removed", "Removed from the compose file."],
    ] as const;
    const containers = actions.map(([name, action, reason]) => ({ name, action, reason }));
    const replacement = { ...NONE.replacement, containers };
    const variables = [{ key: "MODE", change: "added" as const }];
    expect(shown({ ...NONE, variables, replacement, needs_deployment: true })).toMatchInlineSnapshot(`
      "+ variable MODE
      With the next deployment:
        web    new one first  The new container starts beside the old one.
        store  stops first    The old one stops before the new one starts, since it is a database.
        mail   kept           Neither its definition nor its input has changed."
    `);
  });

  test("is nothing, or holds at once, where that is so", () => {
    expect(shown(NONE)).toBe("Nothing changes: shop is as the file says.");
    const urls = [{ container: "web", before: ["http://a.example"], after: [] }];
    expect(shown({ ...NONE, urls })).toContain("It takes effect at once: nothing is restarted.");
  });

  test("cannot move the cursor", () => {
    expect(shown({ ...NONE, variables: [{ key: "A\u001b[2J", change: "added" }] })).toContain("+ variable A\n");
  });
});

describe("a compose file that is run again", () => {
  const FILE = "services:\n  web:\n    image: nginx\n";
  const CHANGED: ServiceChanges = { ...NONE, containers: [{ name: "web", change: "changed", fields: ["image"] }] };

  async function ranAgain(changes: ServiceChanges, ...flags: readonly string[]) {
    using folder = temporaryFolder({ "compose.yaml": FILE });
    const sent: object[] = [];
    const service = { uuid: "s1", name: "shop", applications: [] };
    const ran = await ranWith(
      {
        "services.list": () => [service],
        "services.get": () => service,
        "services.update": (input) => {
          sent.push(input);
          return { uuid: "s1", domains: [], ...(input.dry_run === true ? { changes } : {}) };
        },
        deploy: (input) => {
          sent.push(input);
          return { deployments: [{ deployment_uuid: "d1", resource_uuid: "s1", message: "Queued." }] };
        },
      },
      ["service", "up", "compose.yaml", "shop", "--detach", ...flags],
      { cwd: folder.path },
    );
    expect([ran.exitCode, ran.stderr]).toEqual([0, ""]);
    const [rehearsed, ...done] = sent;
    expect(rehearsed).toMatchObject({ docker_compose: FILE, dry_run: true });
    return { done, stdout: ran.stdout };
  }

  test("leaves running what has not changed, and says so", async () => {
    const { done, stdout } = await ranAgain(NONE);
    expect(done).toEqual([{ uuid: "s1", docker_compose: FILE, instant_deploy: true }]);
    expect(stdout).toBe(
      "Nothing changed in the compose file of shop (s1): its containers keep running unless their variables or images have changed. Replace them with --force-recreate.\n",
    );
  });

  test("says that it changed", async () => {
    expect((await ranAgain(CHANGED)).stdout).toBe("Changed service shop (s1)\n");
  });

  test("replaces everything where that is asked for", async () => {
    const { done, stdout } = await ranAgain(NONE, "--force-recreate");
    expect(done).toEqual([
      { uuid: "s1", docker_compose: FILE, instant_deploy: false },
      { uuid: "s1", force: true },
    ]);
    expect(stdout).toContain("all its containers are replaced");
  });

  test("is only recorded where nothing is to be started", async () => {
    const { done, stdout } = await ranAgain(NONE, "--no-start");
    expect(done).toEqual([{ uuid: "s1", docker_compose: FILE, instant_deploy: false }]);
    expect(stdout).toBe("Nothing changed in the compose file of shop (s1).\n");
  });
});

describe("the compose file of service up and diff", () => {
  const REFUSED = { docker_compose: ["It is not a mapping."], name: ["Taken."] };

  async function ran(files: Readonly<Record<string, string>>, ...argv: readonly string[]) {
    using folder = temporaryFolder(files);
    const sent: unknown[] = [];
    const answers = {
      "services.list": () => [{ uuid: "s1", name: basename(folder.path), applications: [] }],
      "services.update": ({ docker_compose }: Readonly<Record<string, unknown>>) => {
        sent.push(docker_compose);
        if (docker_compose === "bad") throw new Refusal("Validation failed.", "request.invalid", 422, REFUSED);
        return { uuid: "s1", changes: NONE };
      },
    };
    const { exitCode, stderr } = await ranWith(answers, ["service", ...argv], { cwd: folder.path });
    return { exitCode, stderr: stderr.replaceAll(folder.path, "FOLDER"), sent };
  }

  test.each(["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"])(
    "is the only one of the folder, unless it is named: %s",
    async (file) => {
      const files = { [file]: "a", "other.yml": "b" };
      expect(await ran(files, "diff")).toEqual({ exitCode: 0, stderr: "", sent: ["a"] });
      expect(await ran(files, "diff", "other.yml")).toMatchObject({ sent: ["b"] });
      expect(await ran(files, "up")).toMatchObject({ sent: ["a", "a"] });
    },
  );

  test.each<[string, Readonly<Record<string, string>>, readonly string[], string]>([
    ["does not exist", {}, ["up"], "FOLDER has no compose file.\n  Name one: berth services up FILE\n"],
    [
      "is one of several",
      { "compose.yml": "a", "docker-compose.yml": "b" },
      ["up"],
      "FOLDER has several compose files: compose.yml, docker-compose.yml.\n  Name one, such as: berth services up compose.yml\n",
    ],
    ["is empty", { "a.yml": " \n" }, ["up", "a.yml"], "a.yml is empty.\n"],
    ["has nothing from standard input", {}, ["up", "-", "shop"], "Standard input is empty.\n"],
  ])("that %s is refused before anything is sent", async (_what, files, argv, stderr) => {
    expect(await ran(files, ...argv)).toEqual({ exitCode: 2, stderr, sent: [] });
  });

  test.each(["up", "diff"])("that the server refuses is named by %s in place of the field", async (verb) => {
    const { exitCode, stderr } = await ran({ "a.yml": "bad" }, verb, "a.yml");
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringMatching(/^Validation failed\.\n {2}a\.yml: It is not a mapping\.\n {2}(--)?name: Taken\.\n$/),
    ]);
  });
});

test("a file of variables beside a new compose file is named, since it is not read", async () => {
  using folder = temporaryFolder({ "compose.yaml": "services: { web: { image: nginx } }", ".env": "KEY=1" });
  const answers = { "services.list": () => [] };
  const { stderr } = await ranWith(answers, ["service", "up", "compose.yaml", "shop"], { cwd: folder.path });
  expect(stderr).toContain(
    ".env is not read, as it may hold secrets. Set its values with: berth env set --service shop",
  );
});
