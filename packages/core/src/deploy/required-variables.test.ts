import { describe, expect, test } from "vitest";
import { type Compose, parseCompose } from "../compose/parse.ts";
import { isDomainError } from "../errors.ts";
import { requireBuildable } from "./required-variables.ts";

function read(text: string): Compose {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose;
}

const TEXT = `services:
  web:
    build: { context: ., args: { TOKEN: "\${TOKEN:?to fetch packages}" } }
    environment: ["A=\${A:?}", "B=\${B?of the mail server}", "C=\${C:-1}", "A=\${A:?}"]
  cache:
    image: "redis:\${TAG:?}"
`;
/** The compose file as it is started, without the sections for the build. */
const STARTED = `services:
  web: { image: web, environment: ["A=\${A:?}", "B=\${B?of the mail server}", "C=\${C:-1}"] }
  cache: { image: "redis:\${TAG:?}" }
`;

describe("a compose file that demands variables", () => {
  test.each([
    ["all are there", { TOKEN: "t", TAG: "8" }, { A: "1", B: "2", TAG: "8" }, "", []],
    [
      "an empty value is none",
      { TOKEN: "t", TAG: "8" },
      { A: "", B: "2", TAG: "8" },
      "The variable A must have a value, which the compose file demands. Set it, then deploy again.",
      ["A"],
    ],
    [
      "of the build and of the start, each named once with what the file says of it",
      {},
      {},
      "The variables A, B (of the mail server), TAG must have a value, which the compose file demands. Set them, then deploy again. The build needs a value of TOKEN (to fetch packages): set it with is_buildtime, then deploy again.",
      ["A", "B", "TAG", "TOKEN"],
    ],
    [
      "one that is there for the start alone, and is needed to know the image",
      { TOKEN: "t" },
      { A: "1", B: "2", TAG: "8" },
      "The build needs a value of TAG: set it with is_buildtime, then deploy again.",
      ["TAG"],
    ],
    [
      "a name that every object has",
      { TOKEN: "t", TAG: "8" },
      Object.assign(Object.create({ A: "inherited" }) as Record<string, string>, { B: "2", TAG: "8" }),
      "The variable A must have a value, which the compose file demands. Set it, then deploy again.",
      ["A"],
    ],
  ])("is refused at once by all that are missing: %s", (_case, buildEnv, values, sentence, missing) => {
    let error: unknown;
    try {
      requireBuildable({ text: read(TEXT), started: read(STARTED), isGenerating: false }, buildEnv, values);
    } catch (thrown) {
      error = thrown;
    }
    if (missing.length === 0) return expect(error).toBeUndefined();
    expect(isDomainError(error, "deploy.start_failed") && [error.message, error.details]).toEqual([
      sentence,
      { missing_variables: missing },
    ]);
  });

  test("is built without what is generated for it after the build, unless it is set to nothing", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the compose file.
    const demands = 'services: { web: { image: web, environment: ["P=${SERVICE_PASSWORD_P:?of the store}"] } }';
    const build = (values: Readonly<Record<string, string>>, isGenerating: boolean) => () =>
      requireBuildable({ text: read(demands), started: read(demands), isGenerating }, {}, values);
    expect(build({}, true)).not.toThrow();
    expect(build({}, false)).toThrow("The variable SERVICE_PASSWORD_P (of the store) must have a value");
    expect(build({ SERVICE_PASSWORD_P: "" }, true)).toThrow("SERVICE_PASSWORD_P");
    const literal = demands.replace("[", "[SERVICE_PASSWORD_P=as it is, ");
    expect(() => requireBuildable({ text: read(literal), started: read(literal), isGenerating: true }, {}, {})).toThrow(
      "SERVICE_PASSWORD_P",
    );
  });
});
