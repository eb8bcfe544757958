import { describe, expect, test } from "vitest";
import { app, type Given, planOf } from "./plan.fixture.ts";

/** `files: steps; steps that follow`, or `undefined` where the whole source is copied first. */
function early(given: Given): string | undefined {
  const { early } = planOf(given);
  if (early === undefined) return undefined;
  const shown = (steps: typeof early.steps) => steps.map(({ shown }) => shown).join(" > ");
  return `${early.files.join(" ")}: ${shown(early.steps)}; ${shown(early.later)}`;
}

const python = (requirements: string): Given => ({
  entries: ["main.py"],
  files: { "requirements.txt": requirements },
});
const pyproject = (lock: string, text: string): Given => ({
  entries: ["main.py", lock],
  files: { "pyproject.toml": text },
});
const node = (fields: Record<string, unknown>, ...entries: string[]): Given => ({ packageJson: app(fields), entries });
const ruby = (gemfile: string): Given => ({ entries: ["app.rb", "Gemfile.lock"], files: { Gemfile: gemfile } });
const php = (composer: object, ...entries: string[]): Given => ({
  entries: ["public/index.php", "composer.lock", ...entries],
  files: { "composer.json": JSON.stringify(composer) },
});
const go = (manifest: string, ...entries: string[]): Given => ({
  entries: ["main.go", "go.sum", ...entries],
  files: { "go.mod": manifest },
});
const elixir = (mix: string, ...entries: string[]): Given => ({
  entries: ["mix.lock", ...entries],
  files: { "mix.exs": `app: :shop,\n${mix}` },
});
const phoenix = (config: string, prod?: string): Given => ({
  entries: ["mix.lock", "config/", "config/runtime.exs"],
  files: {
    "mix.exs": 'app: :shop,\ndeps: [{:plug, "1"}]',
    "config/config.exs": config,
    ...(prod === undefined ? {} : { "config/prod.exs": prod }),
  },
});

const PIP = "python3 -m venv .venv > .venv/bin/python -m pip install --disable-pip-version-check -r requirements.txt";
const MIX = "mix local.hex --force --if-missing > mix local.rebar --force --if-missing > mix deps.get --only prod";
const UV =
  "python3 -m venv .berth/uv > .berth/uv/bin/python -m pip install --disable-pip-version-check uv > .berth/uv/bin/uv sync --frozen --no-dev";
const GO_BUILD = "go build -ldflags=-s -w -o .berth/app .";
const COMPOSER = "composer install --no-dev --no-interaction --prefer-dist";
const LARAVEL = {
  require: { php: "^8.3", "laravel/framework": "^12" },
  scripts: { "post-autoload-dump": ["@php artisan package:discover"] },
  config: { "allow-plugins": { "pestphp/pest-plugin": true, "php-http/discovery": true } },
};

describe("dependencies are installed from manifests and lockfiles alone", () => {
  test.each<[string, Given, string]>([
    [
      "npm with its lockfile, before a build",
      node({ scripts: { start: "node .", build: "vite build" } }, "package-lock.json", ".npmrc", "src/index.js"),
      "package.json package-lock.json .npmrc: npm ci; npm run build",
    ],
    [
      "pnpm with settings in its workspace file",
      { ...node({}, "pnpm-lock.yaml"), files: { "pnpm-workspace.yaml": "onlyBuiltDependencies:\n  - esbuild\n" } },
      "package.json pnpm-lock.yaml pnpm-workspace.yaml: pnpm install --frozen-lockfile; ",
    ],
    ["bun", node({}, "bun.lock"), "package.json bun.lock: bun install --frozen-lockfile; "],
    [
      "pip with versions, extras, markers, hashes, an index and a repository",
      python(
        "--index-url https://pypi.example/simple\n# -r other.txt\nflask==3.1 \\\n    --hash=sha256:ab\nuvicorn[standard]>=0.30 # server\n" +
          "tomli; python_version < '3.11'\nshop @ git+https://git.example/shop.git\n",
      ),
      `requirements.txt: ${PIP}; `,
    ],
    [
      "uv of a project that is not a package",
      pyproject("uv.lock", '[project]\nname = "shop"\ndependencies = ["httpx"]\n'),
      `pyproject.toml uv.lock: ${UV}; `,
    ],
    [
      "uv, whatever other tools are told, and what is only a text or a comment",
      pyproject(
        "uv.lock",
        '# [build-system]\n[project]\nname = "shop"\nlicense = { file = "LICENSE" }\ndescription = """\n[build-system]\npath = "x"\n"""\n[tool.mypy]\npath = "src"\n',
      ),
      `pyproject.toml uv.lock: ${UV}; `,
    ],
    [
      "poetry, which does not install the project itself",
      pyproject("poetry.lock", '[tool.poetry.dependencies]\nhttpx = "*"\n[build-system]\nrequires = ["poetry-core"]\n'),
      "pyproject.toml poetry.lock: python3 -m venv .berth/poetry > .berth/poetry/bin/python -m pip install --disable-pip-version-check poetry > .berth/poetry/bin/poetry install --only main --no-root --no-interaction --no-ansi; ",
    ],
    [
      "bundler",
      ruby(
        'source "https://rubygems.org"\n\nruby file: ".ruby-version"\ngem "puma", "~> 6"\ngroup :development, :test do\n  gem "debug",\n    require: false\nend\n',
      ),
      "Gemfile Gemfile.lock: bundle install; ",
    ],
    [
      "composer, whose scripts and autoloader follow with all files",
      php(LARAVEL, "artisan", "auth.json"),
      `composer.json composer.lock auth.json: ${COMPOSER} --no-scripts --no-plugins --no-autoloader; ${COMPOSER} --optimize-autoloader`,
    ],
    ["go modules", go("module x\n\nrequire example.com/y v1.0.0\n"), `go.mod go.sum: go mod download; ${GO_BUILD}`],
    [
      "mix",
      elixir('deps: [{:plug, "~> 1.16"}]'),
      `mix.exs mix.lock: ${MIX} > mix deps.compile; mix release --overwrite`,
    ],
    [
      "mix, whose dependencies are compiled with their configuration",
      phoenix(
        'import Config\nconfig :esbuild, cd: Path.expand("../assets", __DIR__)\n# import_config "secret.exs"\nimport_config "#{config_env()}.exs"\n',
        'import Config\nconfig :shop, port: System.get_env("PORT")\n',
      ),
      `mix.exs mix.lock config/config.exs config/prod.exs: ${MIX} > mix deps.compile; mix release --overwrite`,
    ],
    ...[
      phoenix('import_config "secret.exs"\n', ""),
      phoenix('import_config "#{config_env()}.exs"\n'),
      phoenix('config :shop, version: File.read!("VERSION")\n'),
      phoenix("import Config\n", 'config :shop, version: System.cmd("git", ["describe"])\n'),
      elixir('deps: [{:plug, "1"}]', "config"),
    ].map((given): [string, Given, string] => [
      "mix, without compiling, where its configuration may read other files",
      given,
      `mix.exs mix.lock: ${MIX}; mix release --overwrite`,
    ]),
    [
      "two languages, where both can be",
      {
        ...php(LARAVEL, "artisan"),
        packageJson: { devDependencies: { vite: "7" }, scripts: { build: "vite build" } },
      },
      `package.json composer.json composer.lock: npm install > ${COMPOSER} --no-scripts --no-plugins --no-autoloader; ${COMPOSER} --optimize-autoloader > npm run build`,
    ],
  ])("%s", (_what, given, expected) => {
    expect(early(given)).toBe(expected);
  });
});

describe("the whole source is copied before the installation", () => {
  const BARE = '[project]\nname = "shop"\n';
  test.each<[string, Given]>([
    ["a command of the user", { ...node({}), config: { install_command: "npm ci" } }],
    ["a project without dependencies", { packageJson: { scripts: { start: "node ." } } }],
    ["a workspace", node({ workspaces: ["packages/*"] })],
    ["a workspace above the base directory", { ...node({}), workspace: { levelsUp: 1 } }],
    ["a workspace of pnpm", { ...node({}, "pnpm-lock.yaml"), files: { "pnpm-workspace.yaml": 'packages: ["a"]' } }],
    ["a workspace file that is a link", node({}, "pnpm-lock.yaml", "pnpm-workspace.yaml")],
    ["patches of pnpm", node({ pnpm: { patchedDependencies: { x: "patches/x.patch" } } }, "patches/", ".pnpmfile.cjs")],
    ["Yarn's plugins", node({}, "yarn.lock", ".yarn/")],
    ["Yarn in the repository", { ...node({}, "yarn.lock"), workspace: { yarnPath: ".yarn/releases/y.cjs" } }],
    ["a script after the installation", node({ scripts: { start: "node .", postinstall: "node made.js" } })],
    ["a script that prepares", node({ scripts: { start: "node .", prepare: "husky" } })],
    ["a dependency in a folder", node({ dependencies: { mine: "file:./mine" } })],
    ["a dependency in an archive", node({ dependencies: { mine: "./mine-1.0.0.tgz" } })],
    ["an override in a folder", node({ overrides: { a: { b: "file:b" } } })],
    ["a dependency that generates code out of a schema", node({ dependencies: { "@prisma/client": "6" } })],
    ["installed dependencies in the source", node({}, "node_modules/")],
    ["requirements of another file", python("-r base.txt\n")],
    ["constraints of another file", python("flask\n--constraint=limits.txt\n")],
    ["an editable folder", python("-e .\n")],
    ["the folder itself", python(".\n")],
    ["a folder by its path", python("libs/shop\n")],
    ["a folder by its URL", python("shop @ file:///app/libs/shop\n")],
    ["a folder behind a name", python("shop @ ./libs/shop\n")],
    ["a wheel in the source", python("shop-1.0-py3-none-any.whl\n")],
    ["links in a folder", python("--find-links=wheels\nshop\n")],
    ["requirements that were not read to their end", python(`${"# a long comment\n".repeat(5000)}flask\n`)],
    ["requirements in a link", { entries: ["main.py", "requirements.txt"] }],
    ["an environment in the source", { ...python("flask\n"), entries: ["main.py", ".venv/"] }],
    ["a project that pip installs", { entries: ["main.py"], files: { "pyproject.toml": BARE } }],
    ["a package of uv", pyproject("uv.lock", `${BARE}[build-system]\nrequires = ["hatchling"]\n`)],
    ["a workspace of uv", pyproject("uv.lock", `${BARE}[tool.uv.workspace]\nmembers = ["libs/*"]\n`)],
    ["a folder of uv", pyproject("uv.lock", `${BARE}[tool.uv.sources]\nlib = { path = "lib" }\n`)],
    [
      "a folder of uv, written in another way",
      pyproject("uv.lock", `${BARE}[tool.uv.sources.lib]\n"pa\\u0074h" = "lib"\n`),
    ],
    ["a folder of uv behind a name", pyproject("uv.lock", `${BARE}dependencies = ["lib @ file:///app/lib"]\n`)],
    ["a folder of packages for uv", pyproject("uv.lock", `${BARE}[tool.uv]\nfind-links = ["./wheels"]\n`)],
    [
      "a package of uv in a table without a line of its own",
      pyproject("uv.lock", `${BARE}[tool]\nuv = { package = true }\n`),
    ],
    ["a project whose version uv finds out", pyproject("uv.lock", '[project]\nname = "shop"\ndynamic = ["version"]\n')],
    [
      "settings of uv in a file of their own",
      {
        entries: ["main.py", "uv.lock"],
        files: { "pyproject.toml": BARE, "uv.toml": 'index-url = "file:///wheels"\n' },
      },
    ],
    ["a manifest that is not TOML", pyproject("poetry.lock", "[tool.poetry\n")],
    ["a folder of poetry", pyproject("poetry.lock", '[tool.poetry.dependencies]\nlib = { path = "lib" }\n')],
    ["a gem in a folder", ruby('gem "shop", path: "engines/shop"\n')],
    ["a gemspec", ruby('source "https://rubygems.org"\ngemspec\n')],
    ["a Gemfile that reads a file", ruby('gem "rails", File.read("RAILS").strip\n')],
    ["a Gemfile that runs other code", ruby("instance_eval(other)\n")],
    ["settings of bundler", { ...ruby('gem "puma"\n'), entries: ["app.rb", ".bundle/"] }],
    ["packages of PHP in a folder", php({ repositories: [{ type: "path", url: "packages/*" }] })],
    ["a plugin of composer", php({ require: { "symfony/flex": "^2" } })],
    ["a plugin that is allowed", php({ config: { "allow-plugins": { "cweagans/composer-patches": true } } })],
    ["all plugins", php({ config: { "allow-plugins": true } })],
    ["another folder of packages", php({ config: { "vendor-dir": "lib" } })],
    ["packages in the source", php(LARAVEL, "vendor/")],
    ["a module in a folder", go("module x\n\nreplace example.com/y => ./y\n")],
    ["a workspace of Go", go("module x\n", "go.work")],
    ["modules in the source, which are not installed", go("module x\n", "vendor/")],
    ["a dependency of Elixir in a folder", elixir('deps: [{:shop, path: "shop"}]')],
    ["a manifest that reads a file", elixir('version: File.read!("VERSION"), deps: [{:plug, "1"}]')],
    ["tasks of Mix in place of its own", elixir('deps: [{:plug, "1"}], aliases: ["deps.get": ["made", "deps.get"]]')],
    ["an umbrella", elixir('apps_path: "apps"')],
    [
      "Rust, which installs as it builds",
      { entries: ["src/main.rs"], files: { "Cargo.toml": '[package]\nname = "x"' } },
    ],
    ["Java, which installs as it builds", { files: { "pom.xml": "" } }],
    ["Deno, which installs what its files import", { entries: ["main.ts"], files: { "deno.json": "{}" } }],
    [
      "two languages, of which one cannot be",
      { ...php(LARAVEL, "artisan"), packageJson: { workspaces: ["x"], scripts: { build: "vite build" } } },
    ],
  ])("for %s", (_what, given) => {
    expect(early(given)).toBeUndefined();
  });
});
