import {
  firstFile,
  has,
  isPage,
  type LanguageRule,
  LISTEN_HOST,
  lineMatch,
  textOf,
  versionIn,
  wholeText,
} from "./language.ts";
import { argvStep, type SourceFacts } from "./plan.ts";

export const RUBY_FILES = ["Gemfile", ".ruby-version"];

const MAIN_FILES = ["app.rb", "main.rb", "server.rb", "web.rb"];

export const rubyProject: LanguageRule = (facts) => {
  const hasGems = has(facts, "Gemfile");
  const main = firstFile(facts, ["config.ru", ...MAIN_FILES]);
  if (!hasGems && (main === undefined || isPage(facts))) return undefined;
  const isRails = hasGems && gem(facts, "rails") && has(facts, "config/");
  const isLocked = has(facts, "Gemfile.lock");
  const bundle = { BUNDLE_PATH: "vendor/bundle", BUNDLE_WITHOUT: "development:test" };
  const install = argvStep("install", ["bundle", "install"], {
    ...bundle,
    ...(isLocked ? { BUNDLE_FROZEN: "true" } : {}),
  });
  const assets = argvStep("build", ["bundle", "exec", "rails", "assets:precompile"], {
    ...bundle,
    RAILS_ENV: "production",
    SECRET_KEY_BASE_DUMMY: "1",
  });
  const hasAssets = ["propshaft", "sprockets-rails", "sprockets"].some((name) => gem(facts, name));
  return {
    language: "ruby",
    title: isRails ? "Ruby, Rails" : "Ruby",
    version: versionOf(facts),
    programs: hasGems ? ["ruby", "bundle"] : ["ruby"],
    steps: hasGems ? [install, ...(isRails && hasAssets ? [assets] : [])] : [],
    early: isPlainGemfile(facts) ? { files: GEM_FILES, steps: [install] } : undefined,
    start: startOf(facts, isRails, main),
    help: { looked: "config.ru, app.rb or main.rb", example: "bundle exec puma -p $PORT" },
    bins: [],
    env: {
      ...(hasGems ? bundle : {}),
      RACK_ENV: "production",
      ...(isRails ? { RAILS_ENV: "production", RAILS_LOG_TO_STDOUT: "1", RAILS_SERVE_STATIC_FILES: "1" } : {}),
    },
    warnings: isRails
      ? [
          "Rails needs the variable RAILS_MASTER_KEY or SECRET_KEY_BASE, and migrations do not run automatically: " +
            "set post_deployment_command to `bundle exec rails db:migrate`",
        ]
      : [],
  };
};

function startOf(facts: SourceFacts, isRails: boolean, main: string | undefined): string | undefined {
  const prefix = has(facts, "Gemfile") ? "bundle exec " : "";
  if (isRails) return `bundle exec rails server -b ${LISTEN_HOST} -p $PORT`;
  if (main === "config.ru") {
    return gem(facts, "puma")
      ? `${prefix}puma -b tcp://${LISTEN_HOST}:$PORT`
      : `${prefix}rackup -o ${LISTEN_HOST} -p $PORT`;
  }
  return main === undefined ? undefined : `${prefix}ruby ${main}`;
}

const GEM_FILES = ["Gemfile", "Gemfile.lock", ".ruby-version", ".tool-versions"];

/**
 * A Gemfile is a program in Ruby, of which no parser on npm is kept: only lines that are known to read no other file are
 * let through.
 */
function isPlainGemfile(facts: SourceFacts): boolean {
  const gemfile = wholeText(facts, "Gemfile");
  if (gemfile === undefined || has(facts, ".bundle/")) return false;
  return gemfile.split("\n").every((line) => {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) return true;
    return /^(source|gem|ruby|group|platforms?|end\b|["':\w]+:\s|require:)/.test(text) && !READS_FILES.test(text);
  });
}

const READS_FILES =
  /\bpath\b|\bgemspec\b|\beval|\bFile\b|\bDir\b|\bIO\b|\brequire_relative\b|__dir__|__FILE__|`|%x|\bsystem\b/;

const gem = (facts: SourceFacts, name: string): boolean =>
  lineMatch(textOf(facts, "Gemfile"), new RegExp(`^gem\\s{0,20}\\(?\\s{0,20}["']${name}["']`)) !== undefined;

const versionOf = (facts: SourceFacts): string | undefined =>
  versionIn(textOf(facts, ".ruby-version")) ??
  lineMatch(textOf(facts, "Gemfile"), /^ruby\s+["'](\d{1,4}\.\d{1,4})/)?.[1];
