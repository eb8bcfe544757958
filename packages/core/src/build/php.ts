import { parseJsonObject } from "./json-object.ts";
import { firstFile, has, isPage, type LanguageRule, LISTEN_HOST, textOf } from "./language.ts";
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
