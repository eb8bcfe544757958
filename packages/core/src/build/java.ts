import { firstFile, has, type LanguageRule, textOf } from "./language.ts";
import { argvStep, type BuildStep, type SourceFacts } from "./plan.ts";

const GRADLE_FILES = ["build.gradle", "build.gradle.kts"];
export const JAVA_FILES = ["pom.xml", ...GRADLE_FILES];

export const javaProject: LanguageRule = (facts) => {
  const tool = has(facts, "pom.xml") ? MAVEN : firstFile(facts, GRADLE_FILES) === undefined ? undefined : GRADLE;
  if (tool === undefined) return undefined;
  const isWrapped = has(facts, tool.wrapper);
  return {
    language: "java",
    title: `Java (${tool.name})`,
    version: versionOf(facts),
    programs: isWrapped ? ["java"] : ["java", tool.program],
    steps: [tool.build(isWrapped ? ["sh", `./${tool.wrapper}`] : [tool.program])],
    start: startOf(tool.jars),
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
  /** Shell patterns of the folders with jars. */
  readonly jars: string;
  build(program: readonly [string, ...string[]]): BuildStep;
}

const MAVEN: JavaTool = {
  name: "Maven",
  program: "mvn",
  wrapper: "mvnw",
  jars: "target/quarkus-app/quarkus-run.jar target/*.jar",
  build: (program) => argvStep("build", [...program, "--batch-mode", "-DskipTests", "package"]),
};
const GRADLE: JavaTool = {
  name: "Gradle",
  program: "gradle",
  wrapper: "gradlew",
  jars: "build/quarkus-app/quarkus-run.jar build/libs/*.jar",
  build: (program) => argvStep("build", [...program, "--no-daemon", "--console=plain", "build", "-x", "test"]),
};

/** Starts the first executable jar; source jars and jars without dependencies are skipped. */
const startOf = (jars: string): string =>
  [
    `for jar in ${jars}; do`,
    '  case "$jar" in *-sources.jar|*-javadoc.jar|*-plain.jar|*/original-*) continue;; esac',
    '  [ -f "$jar" ] && exec java $JAVA_OPTS -jar "$jar"',
    "done",
    'echo "The build produced no executable jar. Set start_command." >&2; exit 1',
  ].join("\n");

function versionOf(facts: SourceFacts): string | undefined {
  const text = [...JAVA_FILES].map((file) => textOf(facts, file)).join("\n");
  return (/<(?:java\.version|maven\.compiler\.release|maven\.compiler\.target|maven\.compiler\.source)>\s*(?:1\.)?(\d{1,2})\s*</.exec(
    text,
  ) ??
    /JavaLanguageVersion\.of\((\d{1,2})\)/.exec(text) ??
    /JavaVersion\.VERSION_(\d{1,2})\b/.exec(text))?.[1];
}
