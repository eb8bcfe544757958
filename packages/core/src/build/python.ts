import {
  firstFile,
  has,
  isPage,
  type LanguageProject,
  type LanguageRule,
  LISTEN_HOST,
  lineMatch,
  MADE_FOLDER,
  textOf,
  versionIn,
  wholeText,
} from "./language.ts";
import { namesLocalFile } from "./local-file.ts";
import { argvStep, type BuildStep, type SourceFacts } from "./plan.ts";
import { textAt, tomlOf, valueAt } from "./toml.ts";

const MAIN_FILES = ["main.py", "app.py", "server.py", "application.py", "run.py", "app/main.py", "src/main.py"];
const APP_FILES = [...MAIN_FILES, "wsgi.py", "asgi.py", "app/__init__.py", "src/app.py"];

/** Files that this rule reads. */
export const PYTHON_FILES = [
  ...APP_FILES,
  ...["manage.py", "requirements.txt", "pyproject.toml", "uv.toml", ".python-version", "runtime.txt"],
  ...["Pipfile", "setup.py"],
];

/** Files of a package that may create the application: `shop/main.py`, `src/shop/app.py`. */
export const isPackageFile = (path: string): boolean =>
  /^(src\/)?(?!(tests?|examples?|docs?|scripts)\/)[A-Za-z_]\w*\/(main|app|asgi|wsgi|__init__)\.py$/.test(path);

/** Each names the dependencies. */
const MANIFESTS = ["requirements.txt", "pyproject.toml", "Pipfile", "setup.py"];

export const pythonProject: LanguageRule = (facts) => {
  const isInstalled = MANIFESTS.some((file) => has(facts, file));
  const isProject = isInstalled || has(facts, "manage.py");
  const main = firstFile(facts, MAIN_FILES);
  if (!isProject && (main === undefined || isPage(facts))) return undefined;
  // Many Linux systems have python3 alone, and a Procfile or start command says python.
  const lacks = (program: string) => facts.missingPrograms.includes(program);
  const lacksPython = !isInstalled && lacks("python") && !lacks("python3");
  const python = isInstalled ? "python" : "python3";
  const found = django(facts, python) ?? webApplication(facts, main) ?? streamlit(facts, main) ?? program(main, python);
  const manifest = tomlOf(facts, "pyproject.toml");
  const tool = toolOf(facts, manifest);
  const installs = lacksPython ? [BARE_ENVIRONMENT] : installSteps(facts, tool);
  return {
    language: "python",
    title: found?.framework === undefined ? "Python" : `Python, ${found.framework}`,
    version: versionOf(facts, manifest),
    programs: ["python3"],
    steps: [...installs, ...(found?.build ?? [])],
    early: needsManifestsOnly(facts, tool, manifest) ? { files: INSTALL_FILES, steps: installs } : undefined,
    start: found?.start,
    help: { looked: "manage.py, main.py or app.py", example: "gunicorn app:app --bind 0.0.0.0:$PORT" },
    bins: isInstalled || lacksPython ? [".venv/bin"] : [],
    env: {
      PYTHONUNBUFFERED: "1",
      ...(dependsOn(facts, "gradio") ? { GRADIO_SERVER_NAME: LISTEN_HOST, GRADIO_SERVER_PORT: "$PORT" } : {}),
    },
    warnings: found?.warnings ?? [],
  };
};

type Found = Pick<LanguageProject, "start"> & {
  readonly framework?: string;
  readonly build?: readonly BuildStep[];
  readonly warnings?: readonly string[];
};

function django(facts: SourceFacts, python: string): Found | undefined {
  if (!has(facts, "manage.py")) return undefined;
  const [, folder] =
    /^([A-Za-z_]\w*)\/wsgi\.py$/.exec(facts.files.find((path) => /^\w+\/wsgi\.py$/.test(path)) ?? "") ?? [];
  const hasServer = folder !== undefined && dependsOn(facts, "gunicorn");
  const collects = lineMatch(textOf(facts, `${folder}/settings.py`), /^STATIC_ROOT\s*=/) !== undefined;
  const collect = argvStep("build", [pathOf(python), "manage.py", "collectstatic", "--noinput"]);
  return {
    framework: "Django",
    start: hasServer
      ? `gunicorn ${folder}.wsgi:application --bind ${LISTEN_HOST}:$PORT`
      : `${python} manage.py runserver --noreload ${LISTEN_HOST}:$PORT`,
    build: collects ? [collect] : [],
    warnings: [
      ...(hasServer ? [] : [developmentServer("Django", "gunicorn")]),
      "Django migrations do not run automatically: set post_deployment_command to `python manage.py migrate`",
    ],
  };
}

const ASGI = ["FastAPI", "Starlette", "Litestar", "Quart"];
const FRAMEWORKS = [...ASGI, "Flask"];
/** `app: Flask =`, with its name. */
const ASSIGNED = "^([A-Za-z_]\\w{0,80})\\s*(?::[^=]{1,80})?=\\s*(?:\\w{1,40}\\.)?";
const CREATION = `(${FRAMEWORKS.join("|")})\\s*\\(`;
const CREATES = new RegExp(ASSIGNED + CREATION);
const CALLS_FACTORY = new RegExp(`${ASSIGNED}(?:create|make)_app\\s*\\(`);
const CREATES_ANYWHERE = new RegExp(`^(?:\\w{1,80}.{0,80}=|return)\\s*(?:\\w{1,40}\\.)?${CREATION}`);

/** Where a framework's application is found. */
interface WebApplication {
  readonly file: string;
  readonly framework: string;
  /** Of the variable, or of the function that returns it. */
  readonly name: string;
  readonly isFactory: boolean;
}

/** A file that creates a framework's application, and the server named in its dependencies. */
function webApplication(facts: SourceFacts, main: string | undefined): Found | undefined {
  // A program beside a package is what was meant to be started.
  const ofPackages = main === undefined ? facts.files.filter((path) => isPackageFile(path)) : [];
  const files = [...new Set([...APP_FILES, ...ofPackages])];
  const found = [assigned, assignedByFactory, factory].flatMap((find) =>
    files.flatMap((file) => find(facts, file) ?? []),
  );
  for (const application of found) {
    const { framework } = application;
    const start = ASGI.includes(framework) ? asgiStart(facts, application) : wsgiStart(facts, application);
    if (start !== undefined) return { framework, start };
  }
  const [first] = found;
  if (first === undefined) return undefined;
  const { framework, file } = first;
  if (framework !== "Flask") {
    const warnings = [`${framework} needs a server to be reached: add uvicorn to the dependencies`];
    return { framework, start: main === undefined ? undefined : `python ${main}`, warnings };
  }
  // It looks for the application, and for a function create_app or make_app, by itself.
  return {
    framework,
    start: `flask --app ${file} run --host ${LISTEN_HOST} --port $PORT`,
    warnings: [developmentServer("Flask", "gunicorn")],
  };
}

/** `app = Flask(__name__)` */
function assigned(facts: SourceFacts, file: string): WebApplication | undefined {
  const [, name, framework] = lineMatch(topLevel(textOf(facts, file)), CREATES) ?? [];
  return name === undefined || framework === undefined ? undefined : { file, framework, name, isFactory: false };
}

/** `app = create_app()` */
function assignedByFactory(facts: SourceFacts, file: string): WebApplication | undefined {
  const name = lineMatch(topLevel(textOf(facts, file)), CALLS_FACTORY)?.[1];
  const framework = FRAMEWORKS.find((one) => dependsOn(facts, one));
  return name === undefined || framework === undefined ? undefined : { file, framework, name, isFactory: false };
}

/** `def create_app():`, which can be called without arguments. */
function factory(facts: SourceFacts, file: string): WebApplication | undefined {
  const text = textOf(facts, file);
  const [, name, parameters = ""] = lineMatch(topLevel(text), /^def\s+((?:create|make)_app)\s*\(([^)]*)\)/) ?? [];
  const isCallable = parameters.split(",").every((one) => one.trim() === "" || /^\*|=/.test(one.trim()));
  const framework = lineMatch(text, CREATES_ANYWHERE)?.[1];
  return name === undefined || framework === undefined || !isCallable
    ? undefined
    : { file, framework, name, isFactory: true };
}

/** Without what is inside of functions, whose variables no server finds. */
const topLevel = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !/^\s/.test(line))
    .join("\n");

function asgiStart(facts: SourceFacts, { file, name, isFactory }: WebApplication): string | undefined {
  const { folder, module } = moduleOf(file);
  if (dependsOn(facts, "uvicorn") || /\bfastapi\[(standard|all)\]/i.test(dependencies(facts))) {
    const options = `${folder === undefined ? "" : `--app-dir ${folder} `}${isFactory ? "--factory " : ""}`;
    return `uvicorn ${options}${module}:${name} --host ${LISTEN_HOST} --port $PORT`;
  }
  if (!dependsOn(facts, "hypercorn")) return undefined;
  const inside = `${folder === undefined ? "" : `${folder}.`}${module}`;
  return `${isFactory ? "exec " : ""}hypercorn ${targetOf(inside, name, isFactory)} --bind ${LISTEN_HOST}:$PORT`;
}

/** A call has to be quoted, and a command line with quoted parentheses does not replace its shell by itself. */
const targetOf = (module: string, name: string, isFactory: boolean): string =>
  isFactory ? `'${module}:${name}()'` : `${module}:${name}`;

function wsgiStart(facts: SourceFacts, { file, name, isFactory }: WebApplication): string | undefined {
  const { folder, module } = moduleOf(file);
  if (dependsOn(facts, "gunicorn")) {
    const where = folder === undefined ? "" : `--chdir ${folder} `;
    return `${isFactory ? "exec " : ""}gunicorn ${where}${targetOf(module, name, isFactory)} --bind ${LISTEN_HOST}:$PORT`;
  }
  if (!dependsOn(facts, "waitress") || folder !== undefined) return undefined;
  const target = `${isFactory ? "--call " : ""}${module}:${name}`;
  return `waitress-serve --host ${LISTEN_HOST} --port $PORT ${target}`;
}

function streamlit(facts: SourceFacts, main: string | undefined): Found | undefined {
  const file = main ?? firstFile(facts, ["streamlit_app.py"]);
  if (file === undefined || !dependsOn(facts, "streamlit")) return undefined;
  const options = `--server.address ${LISTEN_HOST} --server.port $PORT --server.headless true`;
  return { framework: "Streamlit", start: `streamlit run ${file} ${options}` };
}

const program = (main: string | undefined, python: string): Found | undefined =>
  main === undefined ? undefined : { start: `${python} ${main}` };

const developmentServer = (framework: string, server: string) =>
  `${framework}'s own server for development answers the requests: add ${server} to the dependencies`;

/** `app/main.py` is the module `app.main`. `src` is not a package but the folder to start in. */
function moduleOf(file: string): { readonly folder: string | undefined; readonly module: string } {
  const inner = file.replace(/^src\//, "");
  const module = inner
    .replace(/\.py$/, "")
    .replace(/\/__init__$/, "")
    .replaceAll("/", ".");
  return { folder: inner === file ? undefined : "src", module };
}

type Tool = "uv" | "poetry" | "pipenv" | "pip";
/** Its pyproject.toml. */
type Manifest = ReturnType<typeof tomlOf>;

/** What installs its dependencies: the tool whose lockfile is there comes before a table of its manifest. */
function toolOf(facts: SourceFacts, manifest: Manifest): Tool | undefined {
  const tables = valueAt(manifest, "tool");
  const isRequired = has(facts, "requirements.txt");
  if (has(facts, "uv.lock")) return "uv";
  if (has(facts, "poetry.lock")) return "poetry";
  if (isRequired) return "pip";
  if (valueAt(tables, "uv") !== undefined) return "uv";
  if (valueAt(tables, "poetry") !== undefined) return "poetry";
  if (has(facts, "Pipfile")) return "pipenv";
  return has(facts, "pyproject.toml") || has(facts, "setup.py") ? "pip" : undefined;
}

function installSteps(facts: SourceFacts, tool: Tool | undefined): BuildStep[] {
  if (tool === "uv") {
    const env = { UV_PYTHON_DOWNLOADS: "never", UV_LINK_MODE: "copy" };
    const frozen = has(facts, "uv.lock") ? ["--frozen"] : [];
    return withTool("uv", ["sync", ...frozen, "--no-dev"], env);
  }
  if (tool === "poetry") {
    const options = ["--only", "main", "--no-root", "--no-interaction", "--no-ansi"];
    return withTool("poetry", ["install", ...options], { POETRY_VIRTUALENVS_IN_PROJECT: "true" });
  }
  if (tool === "pipenv") {
    // The lockfile is taken as it is, and the Python that is there, which an image has in the version that it names.
    const install = has(facts, "Pipfile.lock") ? ["sync"] : ["install", "--skip-lock"];
    return withTool("pipenv", [...install, "--python", "python3"], { PIPENV_VENV_IN_PROJECT: "1" });
  }
  if (tool === undefined) return [];
  return [environment(".venv"), pip(".venv", has(facts, "requirements.txt") ? ["-r", "requirements.txt"] : ["."])];
}

/** Whether nothing of the project itself is installed, and no dependency is a folder of it. */
function needsManifestsOnly(facts: SourceFacts, tool: Tool | undefined, manifest: Manifest): boolean {
  if (has(facts, ".venv/") || has(facts, `${MADE_FOLDER}/`)) return false;
  if (tool === "pip") return isPlainRequirements(wholeText(facts, "requirements.txt"));
  if (tool === "pipenv") {
    const pipfile = tomlOf(facts, "Pipfile");
    return pipfile !== undefined && !namesLocalFile(pipfile, ["path", "file"]);
  }
  const settings = has(facts, "uv.toml") ? tomlOf(facts, "uv.toml") : {};
  return tool !== undefined && settings !== undefined && isPlainPyproject(manifest, tool, settings);
}

const INSTALL_FILES = [
  ...["requirements.txt", "pyproject.toml", "uv.lock", "uv.toml", "poetry.lock", "poetry.toml", ".python-version"],
  ...["Pipfile", "Pipfile.lock"],
];

/** Options that name no file of the source. */
const PLAIN_OPTION =
  /^(-i|--(index-url|extra-index-url|trusted-host|no-binary|only-binary|prefer-binary|pre|require-hashes|hash|no-index))\b/;

/**
 * Each line names a package of an index or of a URL: none is a path, and none includes another file. A rule of what is
 * known to be safe, since the parsers on npm know no options, neither `--hash` nor `--index-url`, and take a wheel for
 * the name of a package.
 */
function isPlainRequirements(text: string | undefined): boolean {
  return text?.split("\n").every((line) => isPlainRequirement(line.replace(/(^|\s)#.*/s, "").trim())) ?? false;
}

function isPlainRequirement(line: string): boolean {
  if (line === "" || line === "\\") return true;
  if (line.startsWith("-")) return PLAIN_OPTION.test(line) && !/file:/.test(line);
  const [, rest = ""] = /^[A-Za-z0-9][\w.-]*\s*(?:\[[\w\s,.-]*\]\s*)?(.*)$/s.exec(line) ?? [];
  if (/\.(whl|zip|tar\.gz|tgz|tar\.bz2)\b/.test(line) && !rest.startsWith("@")) return false;
  return (
    /^[A-Za-z0-9]/.test(line) &&
    (rest === "" || /^[<>=!~;(\\]/.test(rest) || /^@\s*(https?|git\+https?|git\+ssh):/.test(rest))
  );
}

/** poetry never installs the project itself here, and uv only where it has a build system. */
function isPlainPyproject(manifest: Manifest, tool: Tool, settings: object): boolean {
  if (manifest === undefined) return false;
  const sources = [
    valueAt(manifest, "project", "dependencies"),
    valueAt(manifest, "project", "optional-dependencies"),
    valueAt(manifest, "dependency-groups"),
    valueAt(manifest, "tool", tool),
    settings,
  ];
  if (sources.some((source) => namesLocalFile(source, ["path", "file", "workspace", "directory"]))) return false;
  if (tool === "poetry") return true;
  // What is dynamic is found out by building the project.
  const whole = [["build-system"], ["project", "dynamic"], ["tool", "uv", "workspace"]];
  if (whole.some((keys) => valueAt(manifest, ...keys) !== undefined)) return false;
  return valueAt(manifest, "tool", "uv", "package") !== true;
}

/** The tool has its own environment, which keeps its dependencies out of the application's. */
function withTool(tool: string, args: readonly string[], env: Readonly<Record<string, string>>): BuildStep[] {
  const folder = `${MADE_FOLDER}/${tool}`;
  return [environment(folder), pip(folder, [tool]), argvStep("install", [`${folder}/bin/${tool}`, ...args], env)];
}

const environment = (folder: string): BuildStep => argvStep("install", ["python3", "-m", "venv", folder]);

/** Names python3 `python`. Nothing is installed into it, and pip would need a package of its own on Debian. */
const BARE_ENVIRONMENT: BuildStep = argvStep("install", ["python3", "-m", "venv", "--without-pip", ".venv"]);

const pip = (folder: string, what: readonly string[]): BuildStep =>
  argvStep("install", [`${folder}/bin/python`, "-m", "pip", "install", "--disable-pip-version-check", ...what]);

const pathOf = (python: string): string => (python === "python" ? ".venv/bin/python" : python);

/** Without comments, since those may name dependencies that are not used. */
const dependencies = (facts: SourceFacts): string =>
  MANIFESTS.map((file) => textOf(facts, file))
    .join("\n")
    .replace(/(^|\s)#.*$/gm, "");

const dependsOn = (facts: SourceFacts, name: string): boolean =>
  new RegExp(`(^|[\\s"'[,])${name}(?![\\w.-])`, "im").test(dependencies(facts));

const NEWEST_MINOR = 13;

/** The pinned version (`3.12`), else the newest that the project's upper bound allows. */
function versionOf(facts: SourceFacts, manifest: Manifest): string | undefined {
  const pinned = versionIn(textOf(facts, ".python-version") || textOf(facts, "runtime.txt"));
  if (pinned !== undefined) return /^3\.\d+$/.test(pinned) ? pinned : undefined;
  const range =
    textAt(manifest, "project", "requires-python") ??
    textAt(manifest, "tool", "poetry", "dependencies", "python") ??
    pipfileRange(facts) ??
    "";
  const exact = /(?:^|[,\s])(?:==|~)?3\.(\d{1,4})(?:\.\*|\.\d+)?$/.exec(range)?.[1];
  if (exact !== undefined && !/[<>^]/.test(range)) return `3.${exact}`;
  const below = Number(/<\s*3\.(\d+)/.exec(range)?.[1] ?? NEWEST_MINOR + 1);
  return below <= NEWEST_MINOR && below > 0 ? `3.${below - 1}` : undefined;
}

/** `==3.12` of the version that a Pipfile asks for. */
function pipfileRange(facts: SourceFacts): string | undefined {
  const version = textAt(tomlOf(facts, "Pipfile"), "requires", "python_version");
  return version === undefined ? undefined : `==${version}`;
}
