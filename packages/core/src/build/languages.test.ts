// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a script of the shell.
import { describe, expect, test } from "vitest";
import { type Given, planOf, refusal, summary } from "./plan.fixture.ts";

const VENV = "python3 -m venv .venv > .venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt";
const WITH = (tool: string, install: string) =>
  `python3 -m venv .berth/${tool} > .berth/${tool}/bin/python -m pip install --disable-pip-version-check ${tool} > ` +
  `.berth/${tool}/bin/${tool} ${install}`;
const FASTAPI = "from fastapi import FastAPI\n\napp: FastAPI = FastAPI()\n";
const FLASK = "import flask\nserver = flask.Flask(__name__)\n";

const FACTORY = "def create_app(config=None):\n    app = Flask(__name__)\n    return app\n";

describe("Python", () => {
  test.each<[string, Given, string]>([
    [
      "Django with gunicorn",
      {
        entries: ["manage.py", "shop/wsgi.py"],
        files: { "requirements.txt": "Django==5\ngunicorn\n", "shop/settings.py": "STATIC_ROOT = 'x'\n" },
      },
      `Python, Django > ${VENV} > .venv/bin/python manage.py collectstatic --noinput > exec gunicorn shop.wsgi:application --bind \${HOST:-0.0.0.0}:$PORT`,
    ],
    [
      "Django without a server",
      { entries: ["manage.py", "shop/wsgi.py"], files: { "requirements.txt": "django # not gunicorn\n" } },
      `Python, Django > ${VENV} > exec python manage.py runserver --noreload \${HOST:-0.0.0.0}:$PORT`,
    ],
    [
      "FastAPI in a package",
      { files: { "requirements.txt": "fastapi\nuvicorn[standard]>=0.30\n", "app/main.py": FASTAPI } },
      `Python, FastAPI > ${VENV} > exec uvicorn app.main:app --host \${HOST:-0.0.0.0} --port $PORT`,
    ],
    [
      "Flask in src with gunicorn",
      { files: { "requirements.txt": "flask\ngunicorn\n", "src/main.py": FLASK } },
      `Python, Flask > ${VENV} > exec gunicorn --chdir src main:server --bind \${HOST:-0.0.0.0}:$PORT`,
    ],
    [
      "Flask without a server",
      { files: { "requirements.txt": "flask\n", "app.py": FLASK } },
      `Python, Flask > ${VENV} > exec flask --app app.py run --host \${HOST:-0.0.0.0} --port $PORT`,
    ],
    [
      "Streamlit",
      { files: { "requirements.txt": "streamlit\n", "app.py": "import streamlit" } },
      `Python, Streamlit > ${VENV} > exec streamlit run app.py --server.address \${HOST:-0.0.0.0} --server.port $PORT --server.headless true`,
    ],
    [
      "a program with dependencies",
      { entries: ["main.py"], files: { "requirements.txt": "" } },
      `Python > ${VENV} > exec python main.py`,
    ],
    ["a program alone", { entries: ["app.py"] }, "Python > exec python3 app.py"],
    [
      "a program whose Procfile says python, on a server that has python3 alone",
      { entries: ["app.py"], procfile: "web: python app.py\n", missingPrograms: ["python"] },
      "Python, Procfile > python3 -m venv --without-pip .venv > exec python app.py",
    ],
    [
      "whatever its Procfile says, on a server that has neither",
      { entries: ["app.py"], procfile: "web: ./serve\n", missingPrograms: ["python", "python3"] },
      "Python, Procfile > exec ./serve",
    ],
    [
      "uv with its lockfile",
      { entries: ["uv.lock", "main.py"], files: { "pyproject.toml": '[project]\ndependencies = ["httpx"]\n' } },
      `Python > ${WITH("uv", "sync --frozen --no-dev")} > exec python main.py`,
    ],
    [
      "uv without one",
      { entries: ["main.py"], files: { "pyproject.toml": "[tool.uv]\n" } },
      `Python > ${WITH("uv", "sync --no-dev")} > exec python main.py`,
    ],
    [
      "poetry",
      {
        entries: ["poetry.lock"],
        files: { "main.py": FASTAPI, "pyproject.toml": '[tool.poetry.dependencies]\nfastapi = "*"\nuvicorn = "*"\n' },
      },
      `Python, FastAPI > ${WITH("poetry", "install --only main --no-root --no-interaction --no-ansi")} > exec uvicorn main:app --host \${HOST:-0.0.0.0} --port $PORT`,
    ],
    [
      "pipenv with its lockfile",
      { entries: ["Pipfile.lock"], files: { "app.py": FLASK, Pipfile: '[packages]\nflask = "*"\ngunicorn = "*"\n' } },
      `Python, Flask > ${WITH("pipenv", "sync --python python3")} > exec gunicorn app:server --bind \${HOST:-0.0.0.0}:$PORT`,
    ],
    [
      "pipenv without one",
      { entries: ["main.py"], files: { Pipfile: "[packages]\n" } },
      `Python > ${WITH("pipenv", "install --skip-lock --python python3")} > exec python main.py`,
    ],
    [
      "setup.py alone",
      { entries: ["main.py"], files: { "setup.py": "setup(install_requires=['httpx'])" } },
      `Python > ${VENV.replace("-r requirements.txt", ".")} > exec python main.py`,
    ],
    [
      "FastAPI in a package of src",
      { files: { "requirements.txt": "uvicorn\n", "src/shop/main.py": FASTAPI } },
      `Python, FastAPI > ${VENV} > exec uvicorn --app-dir src shop.main:app --host \${HOST:-0.0.0.0} --port $PORT`,
    ],
    [
      "an application that is a variable of a function, beside what calls it",
      {
        files: {
          "requirements.txt": "flask\ngunicorn\n",
          "app/__init__.py": FACTORY,
          "wsgi.py": "from app import create_app\n\napp = create_app()\n",
        },
      },
      `Python, Flask > ${VENV} > exec gunicorn wsgi:app --bind \${HOST:-0.0.0.0}:$PORT`,
    ],
    [
      "a function that makes the application",
      { files: { "requirements.txt": "flask\ngunicorn\n", "shop/__init__.py": FACTORY } },
      `Python, Flask > ${VENV} > exec gunicorn 'shop:create_app()' --bind \${HOST:-0.0.0.0}:$PORT`,
    ],
    [
      "a function that needs something to make it",
      { files: { "requirements.txt": "flask\n", "app.py": FACTORY.replace("config=None", "config") } },
      `Python > ${VENV} > exec python app.py`,
    ],
    [
      "a function that makes it for uvicorn",
      { files: { "requirements.txt": "uvicorn\n", "main.py": "def make_app():\n    return FastAPI()\n" } },
      `Python, FastAPI > ${VENV} > exec uvicorn --factory main:make_app --host \${HOST:-0.0.0.0} --port $PORT`,
    ],
    [
      "a page with a script beside it, which is served",
      { entries: ["index.html", "app.py"] },
      "Static files > serve .",
    ],
  ])("is %s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test.each([
    [{ ".python-version": "3.11.7\n" }, "3.11"],
    [{ "runtime.txt": "python-3.12.1" }, "3.12"],
    [{ "pyproject.toml": '[project]\nrequires-python = ">=3.10,<3.12"' }, "3.11"],
    [{ "pyproject.toml": '[project]\nrequires-python = ">=3.10"' }, undefined],
    [{ "pyproject.toml": '[tool.poetry.dependencies]\npython = "==3.11.*"' }, "3.11"],
    [{ ".python-version": "pypy\nFROM evil" }, undefined],
    [{}, undefined],
  ])("of %j is of the version %s", (files, version) => {
    expect(planOf({ entries: ["main.py"], files }).runtime?.version).toBe(version);
  });

  test("is asked to bring the server that FastAPI needs", () => {
    const { detected, warnings } = planOf({ files: { "requirements.txt": "fastapi\n", "main.py": FASTAPI } });
    expect(detected).toBe("Python, FastAPI");
    expect(warnings).toEqual(["FastAPI needs a server to be reached: add uvicorn to the dependencies"]);
  });

  test("tells Gradio where to listen, and takes the version that a Pipfile names", () => {
    const { run, runtime } = planOf({
      entries: ["app.py"],
      files: { Pipfile: '[packages]\ngradio = "*"\n[requires]\npython_version = "3.11"\n' },
    });
    expect(run).toMatchObject({
      script: expect.stringContaining('export GRADIO_SERVER_PORT="${GRADIO_SERVER_PORT:-$PORT}"'),
    });
    expect(runtime).toMatchObject({ version: "3.11" });
  });

  test("says what its framework leaves to the user", () => {
    const { warnings } = planOf({ entries: ["manage.py"], files: { "requirements.txt": "django" } });
    expect(warnings).toEqual([
      expect.stringContaining("add gunicorn to the dependencies"),
      expect.stringContaining("set post_deployment_command to `python manage.py migrate`"),
    ]);
  });
});

const APPLICATION =
  'plugins {\n    id("org.jetbrains.kotlin.jvm")\n    application\n}\njava { toolchain { languageVersion = JavaLanguageVersion.of(21) } }\n';

describe("other languages", () => {
  const GO = "go mod download > go build -ldflags=-s -w -o .berth/app";
  test.each<[string, Given, string]>([
    ["Go", { entries: ["main.go"], files: { "go.mod": "module x\n" } }, `Go > ${GO} . > exec ./.berth/app`],
    [
      "Go without a module",
      { entries: ["main.go"] },
      "Go > go build -ldflags=-s -w -o .berth/app main.go > exec ./.berth/app",
    ],
    [
      "Go with its only program in cmd, and its dependencies beside it",
      { entries: ["cmd/shop/main.go", "vendor/"], files: { "go.mod": "module x\n" } },
      "Go > go build -ldflags=-s -w -o .berth/app ./cmd/shop > exec ./.berth/app",
    ],
    [
      "Go with the program that is called as its module",
      { entries: ["cmd/tool/main.go", "cmd/shop/main.go"], files: { "go.mod": "module example.com/shop\n" } },
      `Go > ${GO} ./cmd/shop > exec ./.berth/app`,
    ],
    [
      "Rust",
      { entries: ["src/main.rs", "Cargo.lock"], files: { "Cargo.toml": '[package]\nname = "my-shop"\n' } },
      "Rust > cargo install --path . --root .berth --locked > exec ./.berth/bin/my-shop",
    ],
    [
      "Rust with a program of its own name",
      { entries: ["src/main.rs"], files: { "Cargo.toml": '[package]\nname="a"\n[[bin]]\npath="x"\nname = "web"\n' } },
      "Rust > cargo install --path . --root .berth > exec ./.berth/bin/web",
    ],
    [
      "Rust in the only member of its workspace that is a program",
      {
        entries: ["api/src/main.rs", "shared/src/lib.rs", "Cargo.lock"],
        files: {
          "Cargo.toml": '[workspace]\nmembers = ["api", "shared"]\n',
          "api/Cargo.toml": '[package]\nname = "shop-api"\n',
          "shared/Cargo.toml": '[package]\nname = "shared"\n',
        },
      },
      "Rust > cargo install --path api --root .berth --locked > exec ./.berth/bin/shop-api",
    ],
    [
      "Ruby on Rails",
      {
        entries: ["Gemfile.lock", "config/routes.rb", "config.ru"],
        files: { Gemfile: 'gem "rails", "~> 8"\ngem "propshaft"\n' },
      },
      "Ruby, Rails > bundle install > bundle exec rails assets:precompile > exec bundle exec rails server -b ${HOST:-0.0.0.0} -p $PORT",
    ],
    [
      "Ruby with rack and puma",
      { entries: ["config.ru"], files: { Gemfile: "gem 'puma'\ngem 'sinatra'" } },
      "Ruby > bundle install > exec bundle exec puma -b tcp://${HOST:-0.0.0.0}:$PORT",
    ],
    ["Ruby alone", { entries: ["app.rb"] }, "Ruby > exec ruby app.rb"],
    [
      "Elixir",
      {
        files: {
          "mix.exs": 'def project do\n[\n  app: :shop,\n deps: [{:phoenix, "1"}], aliases: ["assets.deploy": []]',
        },
      },
      "Elixir, Phoenix > mix local.hex --force --if-missing > mix local.rebar --force --if-missing > mix deps.get --only prod > mix compile > mix assets.deploy > mix release --overwrite > exec _build/prod/rel/shop/bin/shop start",
    ],
    [
      "Elixir without dependencies, which needs nothing of Hex",
      { files: { "mix.exs": "def project do\n[\n  app: :shop,\n" } },
      "Elixir > mix release --overwrite > exec _build/prod/rel/shop/bin/shop start",
    ],
    [
      "Deno by its task",
      { files: { "deno.jsonc": '{ // x\n "tasks": { "start": "deno run -A main.ts" } }' }, entries: ["main.ts"] },
      "Deno > deno cache main.ts > exec deno task start",
    ],
    [
      "Deno by its main file",
      { files: { "deno.json": "{}" }, entries: ["server.ts"] },
      "Deno > deno cache server.ts > exec deno run --allow-all server.ts",
    ],
  ])("%s", (_what, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test("Java is built by Maven or Gradle, by the repository's own where it brings it", () => {
    const steps = (given: Given) => planOf(given).steps.map(({ shown }) => shown);
    expect(steps({ files: { "pom.xml": "" } })).toEqual(["mvn --batch-mode -DskipTests package"]);
    expect(steps({ files: { "pom.xml": "" }, entries: ["mvnw"] })).toEqual([
      "sh ./mvnw --batch-mode -DskipTests package",
    ]);
    expect(steps({ files: { "build.gradle.kts": "" } })).toEqual(["gradle --no-daemon --console=plain build -x test"]);
    const module = { entries: ["gradlew", "settings.gradle.kts"], files: { "app/build.gradle.kts": APPLICATION } };
    expect(steps(module)).toEqual(["sh ./gradlew --no-daemon --console=plain installDist"]);
    expect(planOf(module)).toMatchObject({
      runtime: { version: "21" },
      run: { script: expect.stringContaining("for program in app/build/install/*/bin/*; do") },
    });
    const ktor = 'plugins {\n  application\n  id("io.ktor.plugin") version "3.0.0"\n}\n';
    expect(planOf({ files: { "build.gradle.kts": ktor } }).run).toMatchObject({
      script: expect.stringContaining(
        "for jar in build/quarkus-app/quarkus-run.jar build/libs/*-all.jar build/libs/*.jar; do",
      ),
    });
    expect(
      refusal({
        entries: ["settings.gradle"],
        files: { "a/build.gradle": APPLICATION, "b/build.gradle": APPLICATION },
      }),
    ).toMatch(/^deploy\.unrecognised/);
    const { runtime, run } = planOf({ files: { "pom.xml": "<java.version>17</java.version>" } });
    expect(runtime).toMatchObject({ language: "java", version: "17" });
    expect(run).toMatchObject({ script: expect.stringContaining('export SERVER_PORT="${SERVER_PORT:-$PORT}"') });
  });

  test("PHP is served from its public folder, with the extensions that it names", () => {
    const files = { "composer.json": '{"require": {"php": "^8.2", "ext-redis": "*", "ext-gd;rm": "*"}}' };
    const plan = planOf({ entries: ["artisan", "public/index.php", "index.php"], files });
    expect(plan).toMatchObject({
      detected: "PHP, Laravel",
      run: { script: expect.stringContaining("--root public ") },
    });
    expect(plan.runtime?.extensions).toEqual(["bcmath", "intl", "pcntl", "pdo_mysql", "pdo_pgsql", "redis", "zip"]);
    expect(planOf({ entries: ["index.php"] })).toMatchObject({
      detected: "PHP",
      steps: [],
      run: { script: expect.stringContaining("-t .") },
    });
    expect(refusal({ files: { "composer.json": "{" } })).toContain("composer.json is not valid JSON");
  });
});

describe("a language beside Node", () => {
  const laravel = { entries: ["artisan", "public/index.php"], files: { "composer.json": "{}" } };
  test("has its assets built by Node, which the image then has too", () => {
    const packageJson = { devDependencies: { vite: "7" }, scripts: { build: "vite build", dev: "vite" } };
    const { steps, runtime, detected } = planOf({ ...laravel, packageJson });
    expect(steps.map(({ shown }) => shown)).toEqual([
      "npm install",
      expect.stringMatching(/^composer install/),
      "npm run build",
    ]);
    expect([detected, runtime?.language, runtime?.needsNode]).toEqual(["PHP, Laravel (npm)", "php", true]);
  });

  test("is not taken where package.json says how to start", () => {
    const packageJson = { scripts: { start: "node server.js" } };
    expect(summary({ ...laravel, packageJson })).toBe("Node.js (npm) > exec node server.js");
  });

  test("installs what it needs for a start command, and asks for no program that nothing uses", () => {
    const given = { entries: ["main.go"], files: { "go.mod": "module x" }, missingPrograms: ["go"] };
    const own = { install_command: "", build_command: "make", start_command: "./made" };
    expect(summary({ ...given, config: own })).toBe("Start command > make > exec ./made");
    expect(refusal({ ...given, config: { start_command: "./made" } })).toMatch(/go is not installed on this server/);
  });
});

test.each([
  ["cmd/$(id)/main.go", { "go.mod": "module x" }],
  ["src/main.rs", { "Cargo.toml": '[package]\nname = "x;id"' }],
  ["x", { "mix.exs": 'app: :"x;id"' }],
])("no name of a file or a manifest becomes a command: %s", (path, files) => {
  expect(refusal({ entries: [path], files })).toMatch(/^deploy\.unrecognised It is not clear how to start this/);
});
