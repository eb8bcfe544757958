import { describe, expect, test } from "vitest";
import { listNames } from "./listing.ts";
import { parsePackageJson } from "./package-json.ts";
import { app, type Given, planOf, refusal, summary } from "./plan.fixture.ts";
import { procfileWeb } from "./procfile.ts";

describe("static files", () => {
  test.each<[string, Given, string]>([
    ["are a folder with an index.html", { entries: ["index.html", "style.css"] }, "Static files > serve ."],
    [
      "are what a folder public or dist holds",
      { entries: ["README.md", "public/index.html"] },
      "Static files > serve public",
    ],
    [
      "may be a single page application",
      { entries: ["index.html"], config: { is_spa: true } },
      "Static files > serve . (spa)",
    ],
    [
      "may lie in a folder",
      { entries: ["site/"], config: { publish_directory: "/site" } },
      "Static files > serve /site !",
    ],
    [
      "with a package.json beside them are served",
      { entries: ["index.html"], packageJson: { scripts: { lint: "x" } } },
      "Static files (npm) > serve .",
    ],
    [
      "of the static build pack are not built",
      { entries: ["index.html"], packageJson: app(), config: { build_pack: "static" } },
      "Static files > serve .|dist|build|out|public|_site",
    ],
    [
      "of the static build pack are built when it says how",
      { packageJson: app(), config: { build_pack: "static", build_command: "make" } },
      "Static files (npm) > npm install > make > serve dist|build|out|public|_site|.",
    ],
    [
      "are looked for where the build puts them with is_static",
      {
        packageJson: { devDependencies: { vite: "7" }, scripts: { build: "vite build", start: "node x" } },
        config: { is_static: true },
      },
      "Vite, static (npm) > npm install > npm run build > serve dist|build|out|public|_site|. (spa)",
    ],
    [
      "with is_static and no package.json are served",
      { entries: ["a.html"], config: { is_static: true } },
      "Static files > serve dist|build|out|public|_site|.",
    ],
    [
      "keep explicit commands",
      { entries: ["index.html"], config: { install_command: "a", build_command: "b" } },
      "Static files > a > b > serve .",
    ],
  ])("%s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });
});

describe("explicit commands", () => {
  test.each<[string, Given, string]>([
    [
      "win over everything",
      {
        packageJson: app({ scripts: { build: "x", start: "y" } }),
        config: { install_command: "make deps", build_command: "make", start_command: "./run" },
      },
      "Start command (npm) > make deps > make > exec ./run",
    ],
    [
      "skip a step when they are empty",
      {
        packageJson: app({ scripts: { build: "x", start: "node y" } }),
        config: { install_command: "", build_command: " " },
      },
      "Node.js (npm) > exec node y",
    ],
    [
      "need nothing else",
      { entries: ["main.go"], config: { build_command: "go build -o app", start_command: "./app" } },
      "Start command > go build -o app > exec ./app",
    ],
    [
      "empty to start with mean the detected one",
      { packageJson: app(), config: { start_command: "" } },
      "Node.js (npm) > npm install > exec node server.js",
    ],
  ])("%s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test("are one argument of the shell, whatever they hold", () => {
    const hostile = "echo '$(touch x)' \"`touch y`\"; exit 1";
    const { steps } = planOf({ entries: ["index.html"], config: { build_command: hostile } });
    expect(steps.map(({ argv }) => argv)).toEqual([["/bin/sh", "-c", hostile]]);
  });
});

describe("a Procfile", () => {
  const python = { entries: ["requirements.txt", "app.py"], procfile: "web: gunicorn app:app --bind 0.0.0.0:$PORT\n" };
  test.each<[string, Given, string]>([
    [
      "says how to start",
      { procfile: "worker: x\nweb:   ./serve --port $PORT  \r\n" },
      "Procfile > exec ./serve --port $PORT",
    ],
    [
      "wins over package.json",
      { packageJson: app(), procfile: "web: node other.js" },
      "Procfile (npm) > npm install > exec node other.js",
    ],
    [
      "starts a Python application in an environment of its own",
      python,
      "Python, Procfile > python3 -m venv .venv > .venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt > exec gunicorn app:app --bind 0.0.0.0:$PORT",
    ],
    ["without web is none", { procfile: "worker: x", entries: ["index.html"] }, "Static files > serve ."],
  ])("%s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test("puts Python's environment on the path", () => {
    expect(planOf(python).run).toMatchObject({
      script: expect.stringContaining('export PATH="$PWD/.venv/bin:$PATH"\n'),
    });
  });

  test("of Python says what the server lacks", () => {
    expect(refusal({ ...python, missingPrograms: ["python3"] })).toBe(
      "deploy.build_failed python3 is not installed on this server: the application is recognised as Python, Procfile. " +
        "Install it there (for example: apt-get install python3 python3-venv), or deploy to a server with Docker.",
    );
  });

  test.each([
    ["web: a", "a"],
    ["WEB: a", undefined],
    ["website: a", undefined],
    ["web:", undefined],
    [" web: a", undefined],
    ["# web: a\nweb: b # not a comment", "b # not a comment"],
  ])("%j gives %j", (text, command) => {
    expect(procfileWeb(text)).toBe(command);
  });
});

describe("lines of a Procfile beside web", () => {
  const worker =
    "To run worker too, deploy the same source as another application with that command as its start_command and " +
    "without a URL (berth deploy --new --name NAME --start-command COMMAND --no-autogenerate-domain).";
  const release =
    "To run release with each deployment, set post_deployment_command (--post-deployment-command), which runs in " +
    "the new release, or pre_deployment_command, which runs in the one before.";
  const only = (types: string) => `Of the Procfile only the line web is run, not ${types}.`;

  test.each<[string, Given, readonly string[]]>([
    ["worker", { procfile: "web: ./run\nworker: ./work\r\n" }, [only("worker"), worker]],
    ["release", { procfile: "release: ./migrate\nweb: ./run" }, [only("release"), release]],
    ["both", { procfile: "release: a\nworker: b\nweb: ./run" }, [only("release, worker"), worker, release]],
    ["a language's start", { procfile: "worker: b", packageJson: app() }, [only("worker"), worker]],
    ["no command", { procfile: "web: ./run\nworker:\n# worker: b\nnot a line" }, []],
    ["twice", { procfile: "web: ./run\nworker: a\nworker: b" }, [only("worker"), worker]],
    // That is what the application of the worker itself has.
    ["a start command", { procfile: "web: ./run\nworker: b", config: { start_command: "b" } }, []],
  ])("with %s are named with what to do", (_what, given, notes) => {
    expect(planOf(given).notes).toEqual(notes);
  });

  test("are not taken for what starts it", () => {
    expect(refusal({ procfile: "worker: b", entries: ["Procfile"] })).toContain("its Procfile has no line web");
  });
});

describe("what cannot be built", () => {
  test.each(["dockerfile", "dockercompose", "dockerimage"] as const)(
    "of build pack %s says what to do",
    (build_pack) => {
      expect(refusal({ packageJson: app(), config: { build_pack } })).toBe(
        `engine.unsupported The build pack ${build_pack} needs Docker, which this server does not use. ` +
          "Set build_pack to nixpacks or static, or deploy to a server with Docker.",
      );
    },
  );

  test("says what was seen, and how to say it with which setting and flag, each once", () => {
    const entries = Array.from({ length: 12 }, (_, index) => `file-${String(index).padStart(2, "0")}`);
    expect(refusal({ entries, config: { base_directory: "/app" } })).toBe(
      "deploy.unrecognised It is not clear how to start this: no file of a language that Berth knows, no Procfile and " +
        "no index.html was found. /app holds file-00, file-01, file-02, file-03, file-04, file-05, file-06, file-07, " +
        "file-08, file-09 and 2 more. Set start_command (berth deploy --start-command 'node server.js'), " +
        "publish_directory for a static site (--publish-directory /site), or base_directory when the application lies " +
        "in another folder (--base-directory /app). For a language that is not recognised, add a Dockerfile and deploy " +
        "to a server with Docker.",
    );
    const monorepo = refusal({ entries: ["tests/package.json", "apps/web/package.json", "api/requirements.txt"] });
    expect(monorepo).toContain("such as the one with api/requirements.txt (--base-directory /api).");
    expect(monorepo).not.toContain("add a Dockerfile");
    expect(refusal({})).toContain("/ holds nothing.");
    expect(refusal({ entries: ["Dockerfile"] })).toContain("(--build-pack dockerfile), on a server with Docker.");
    expect(refusal({ entries: ["compose.yml"] })).toContain("--docker-compose-location /compose.yml)");
    expect(refusal({ packageJson: {} })).toContain("its package.json has no start script and no main file");
    expect(refusal({ files: { "requirements.txt": "flask" } })).toContain(
      "it is recognised as Python, but without manage.py, main.py or app.py. / holds requirements.txt. " +
        "Set start_command (berth deploy --start-command 'gunicorn app:app --bind 0.0.0.0:$PORT')",
    );
    expect(listNames(["a\u001b[31m"])).toBe("a?[31m");
  });

  test("does not hide a Dockerfile that is not used", () => {
    expect(planOf({ procfile: "web: ./run", entries: ["Dockerfile"] }).notes).toEqual([
      "It has a Dockerfile too, and is built by its Procfile. To build it from the Dockerfile, set build_pack to " +
        "dockerfile (--build-pack dockerfile), on a server with Docker.",
    ]);
    expect(planOf({ procfile: "web: ./run" }).notes).toEqual([]);
  });

  test.each([
    ["{", "is not valid JSON"],
    ["[]", "is not a JSON object"],
    ["null", "is not a JSON object"],
  ])("with the package.json %s says so", (text, message) => {
    expect(() => parsePackageJson(text)).toThrow(message);
  });

  test("is no package.json with odd values: they count as absent", () => {
    const odd = {
      scripts: { start: 5, build: null, test: " " },
      dependencies: ["a"],
      main: {},
      engines: "x",
      packageManager: "--x@1",
    };
    expect(parsePackageJson(`\ufeff${JSON.stringify(odd)}`)).toEqual({
      scripts: new Map(),
      dependencies: new Set(),
      main: undefined,
      packageManager: undefined,
      enginesNode: undefined,
      hasWorkspaces: false,
      hasPnpmSettings: false,
    });
    const prototype = parsePackageJson('{"scripts": {"__proto__": "x", "constructor": "y"}}');
    expect(prototype.scripts.has("start")).toBe(false);
  });
});
