import { isObject, parseJsonObject } from "./json-object.ts";
import { firstFile, has, isPage, type LanguageRule, LISTEN_HOST, textOf, wholeText } from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";

export const PHP_FILES = ["composer.json"];

export const phpProject: LanguageRule = (facts) => {
  const isInstalled = has(facts, "composer.json");
  const index = firstFile(facts, ["public/index.php", "web/index.php", "index.php"]);
  if (!isInstalled && (index === undefined || isPage(facts))) return undefined;
  const isLaravel = has(facts, "artisan");
  const requirements = isInstalled ? requiredBy(facts) : [];
  const options = ["--no-dev", "--no-interaction", "--prefer-dist", "--optimize-autoloader"];
  return {
    language: "php",
    title: isLaravel ? "PHP, Laravel" : requirements.includes("symfony/framework-bundle") ? "PHP, Symfony" : "PHP",
    version: undefined,
    programs: isInstalled ? ["php", "composer"] : ["php"],
    steps: isInstalled ? [argvStep("install", ["composer", "install", ...options])] : [],
    early:
      isInstalled && isPlainComposer(facts)
        ? { files: COMPOSER_FILES, steps: [argvStep("install", FETCH)] }
        : undefined,
    start: index === undefined ? undefined : serve(index.replace(/\/?index\.php$/, "") || "."),
    help: { looked: "index.php or public/index.php", example: "php -S 0.0.0.0:$PORT -t public" },
    bins: isInstalled ? ["vendor/bin"] : [],
    env: {},
    warnings: isLaravel
      ? [
          "Laravel needs the variable APP_KEY, and migrations do not run automatically: " +
            "set post_deployment_command to `php artisan migrate --force`",
        ]
      : [],
    extensions: extensionsOf(requirements, isLaravel),
  };
};

/** FrankenPHP if it is installed, as in the image; otherwise PHP's built-in server with several workers. */
const serve = (root: string): string =>
  [
    "if command -v frankenphp >/dev/null; then",
    `  exec frankenphp php-server --root ${root} --listen "${LISTEN_HOST}:$PORT"`,
    "fi",
    'echo "frankenphp is not installed here: the server for development that PHP brings along answers the requests"',
    `PHP_CLI_SERVER_WORKERS="\${PHP_CLI_SERVER_WORKERS:-4}" exec php -S "${LISTEN_HOST}:$PORT" -t ${root}`,
  ].join("\n");

const COMPOSER_FILES = ["composer.json", "composer.lock", "auth.json"];

/** Only unpacks the packages: the whole installation that follows has the files for the autoloader and the scripts. */
const FETCH = [
  ...(["composer", "install", "--no-dev", "--no-interaction", "--prefer-dist"] as const),
  ...(["--no-scripts", "--no-plugins", "--no-autoloader"] as const),
] as const;

/** Plugins that do nothing when a package is installed, so that it does not matter that it was installed without them. */
const HARMLESS_PLUGINS = ["pestphp/pest-plugin", "php-http/discovery"];

/** Whether packages come from registries alone, to the usual folder, without plugins that place or change them. */
function isPlainComposer(facts: SourceFacts): boolean {
  const text = wholeText(facts, "composer.json");
  if (text === undefined || has(facts, "vendor/")) return false;
  const { config, repositories, require, extra } = parseJsonObject(text, "composer.json");
  const { "allow-plugins": plugins = {}, ...settings } = isObject(config) ? config : {};
  const used = isObject(plugins) ? Object.keys(plugins).filter((name) => plugins[name] === true) : [`${plugins}`];
  if (!used.every((name) => HARMLESS_PLUGINS.includes(name))) return false;
  if (["vendor-dir", "bin-dir", "data-dir"].some((name) => name in settings)) return false;
  if (isObject(require) && Object.keys(require).some((name) => /^(symfony\/flex|composer\/installers)$/.test(name))) {
    return false;
  }
  return (
    !/"(path|artifact)"/.test(JSON.stringify(repositories ?? {})) &&
    !/merge-plugin|patches/.test(JSON.stringify(extra ?? {}))
  );
}

const requiredBy = (facts: SourceFacts): string[] => {
  const required = parseJsonObject(textOf(facts, "composer.json"), "composer.json").require;
  return typeof required === "object" && required !== null ? Object.keys(required) : [];
};

/** Extensions required by composer.json; for Laravel also those of its usual databases. */
function extensionsOf(requirements: readonly string[], isLaravel: boolean): string[] {
  const named = requirements.flatMap((name) => /^ext-([a-z0-9_]{1,40})$/.exec(name)?.[1] ?? []);
  const usual = isLaravel ? ["bcmath", "intl", "pcntl", "pdo_mysql", "pdo_pgsql", "zip"] : ["zip"];
  return [...new Set([...(requirements.length > 0 || isLaravel ? usual : []), ...named])].sort();
}
