import { firstFile, has, type LanguageRule, lineMatch, textOf } from "./language.ts";
import { argvStep, type BuildStep, type SourceFacts } from "./plan.ts";

const GRADLE_FILES = ["build.gradle", "build.gradle.kts"];
const GRADLE_SETTINGS = ["settings.gradle", "settings.gradle.kts"];
export const JAVA_FILES = ["pom.xml", ...GRADLE_FILES, ...GRADLE_SETTINGS];

/** Build file of a module, such as `app/build.gradle` of `gradle init`. */
export const isGradleModule = (path: string): boolean => /^\w[\w-]*\/build\.gradle(\.kts)?$/.test(path);

export const javaProject: LanguageRule = (facts) => {
  const tool = has(facts, "pom.xml") ? MAVEN : gradleOf(facts);
  if (tool === undefined) return undefined;
  const isWrapped = has(facts, tool.wrapper);
  return {
    language: "java",
    title: `Java (${tool.name})`,
    version: versionOf(facts),
    programs: isWrapped ? ["java"] : ["java", tool.program],
    steps: [tool.build(isWrapped ? ["sh", `./${tool.wrapper}`] : [tool.program])],
    start: tool.start,
    help: { looked: "a jar after the build", example: "java -jar target/app.jar" },
    bins: [],
    // Spring Boot, Quarkus and Micronaut each have their own variable for the port.
    env: { SERVER_PORT: "$PORT", QUARKUS_HTTP_PORT: "$PORT", MICRONAUT_SERVER_PORT: "$PORT" },
    warnings: [],
  };
};

interface JavaTool {
  readonly name: string;
  readonly program: string;
  readonly wrapper: string;
  readonly start: string;
  build(program: readonly [string, ...string[]]): BuildStep;
}

/** Starts the first executable jar; source jars and jars without dependencies are skipped. */
const startOf = (jars: string): string =>
  [
    `for jar in ${jars}; do`,
    '  case "$jar" in *-sources.jar|*-javadoc.jar|*-plain.jar|*/original-*) continue;; esac',
    '  [ -f "$jar" ] && exec java $JAVA_OPTS -jar "$jar"',
    "done",
    'echo "The build produced no executable jar. Set start_command." >&2; exit 1',
  ].join("\n");

/** Starts the program of Gradle's plugin `application`, whose jar alone is not executable. */
const startInstalled = (folder: string): string =>
  [
    `for program in ${folder}build/install/*/bin/*; do`,
    '  case "$program" in *.bat) continue;; esac',
    '  [ -f "$program" ] && exec "$program"',
    "done",
    'echo "The build installed no program. Set start_command." >&2; exit 1',
  ].join("\n");

const MAVEN: JavaTool = {
  name: "Maven",
  program: "mvn",
  wrapper: "mvnw",
  start: startOf("target/quarkus-app/quarkus-run.jar target/*.jar"),
  build: (program) => argvStep("build", [...program, "--batch-mode", "-DskipTests", "package"]),
};

/** The project of the folder, else the module `app` that `gradle init` makes, else the only one with a program. */
function gradleOf(facts: SourceFacts): JavaTool | undefined {
  if (firstFile(facts, GRADLE_FILES) !== undefined) return gradle(facts, "");
  if (firstFile(facts, GRADLE_SETTINGS) === undefined) return undefined;
  const modules = facts.files.flatMap((path) => (isGradleModule(path) ? [path.replace(/[^/]+$/, "")] : []));
  const programs = modules.filter((folder) => isInstalled(facts, folder) || MAKES_JAR.test(buildFile(facts, folder)));
  const [only] = programs.length === 1 ? programs : modules.filter((folder) => folder === "app/");
  return only === undefined ? undefined : gradle(facts, only);
}

function gradle(facts: SourceFacts, folder: string): JavaTool {
  const installs = isInstalled(facts, folder);
  const tasks = installs ? ["installDist"] : ["build", "-x", "test"];
  // Ktor's jar with all dependencies has no version in its name, and would come after the one without.
  const jars = ["quarkus-app/quarkus-run.jar", "libs/*-all.jar", "libs/*.jar"].map((jar) => `${folder}build/${jar}`);
  return {
    name: "Gradle",
    program: "gradle",
    wrapper: "gradlew",
    start: installs ? startInstalled(folder) : startOf(jars.join(" ")),
    build: (program) => argvStep("build", [...program, "--no-daemon", "--console=plain", ...tasks]),
  };
}

const buildFile = (facts: SourceFacts, folder: string): string =>
  GRADLE_FILES.map((file) => textOf(facts, `${folder}${file}`)).join("\n");

/** Plugins and settings that make a jar which is executable. */
const MAKES_JAR = /org\.springframework\.boot|io\.quarkus|io\.micronaut|io\.ktor\.plugin|shadow|Main-Class/;

/** Whether its program is what the plugin `application` installs. */
function isInstalled(facts: SourceFacts, folder: string): boolean {
  const text = buildFile(facts, folder);
  const isApplied = /^(id\s{0,5}\(?\s{0,5}["']application["']|application\s*$|apply plugin:\s{0,5}["']application["'])/;
  return !MAKES_JAR.test(text) && lineMatch(text, isApplied) !== undefined;
}

function versionOf(facts: SourceFacts): string | undefined {
  const text = [...facts.texts.keys()]
    .filter((file) => JAVA_FILES.includes(file) || isGradleModule(file))
    .map((file) => textOf(facts, file))
    .join("\n");
  return (/<(?:java\.version|maven\.compiler\.release|maven\.compiler\.target|maven\.compiler\.source)>\s*(?:1\.)?(\d{1,2})\s*</.exec(
    text,
  ) ??
    /JavaLanguageVersion\.of\((\d{1,2})\)/.exec(text) ??
    /JavaVersion\.VERSION_(\d{1,2})\b/.exec(text))?.[1];
}
