import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuCost } from "../cpu-cost.fixture.ts";
import { isDomainError } from "../errors.ts";
import { serviceSource } from "../service/service-source.ts";
import { interpolatedDocument } from "./mounted-content.ts";
import { type Compose, parseCompose } from "./parse.ts";
import { placeInProblem } from "./yaml-place.ts";

function parsed(text: string): Compose {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join("\n"));
  return compose;
}
const problemsOf = (text: string) => {
  const compose = parseCompose(text);
  return "problems" in compose ? compose.problems : [];
};
const web = (lines: string) => `services:\n  web:\n    image: nginx\n${lines.replace(/^/gm, "    ")}`;

describe("a service that extends another one of its file", () => {
  test("does not take over what it resets or overrides, which the compose tool learns from no tag", () => {
    const { document, containers, environments } = parsed(`
services:
  base:
    image: alpine
    command: [sleep, "1"]
    profiles: [debug]
    labels: [a=1, b=1]
    environment: { VERSION: 1.10, B: base }
  child:
    extends: { service: base }
    profiles: !reset []
    labels: !override { c: "2" }
    environment: [B=child]
  other:
    extends: child
    command: !override [sleep, "2"]
  plain:
    extends: base
`);
    const { child, other, plain } = document.services;
    expect(child).toEqual({
      image: "alpine",
      command: ["sleep", "1"],
      labels: { c: "2" },
      environment: { VERSION: "1.10", B: "child" },
    });
    expect(other).toEqual({ ...child, command: ["sleep", "2"] });
    expect(plain).toEqual({ extends: "base" });
    expect(environments.get("other")).toMatchObject([
      { key: "VERSION", value: "1.10" },
      { key: "B", value: "child" },
    ]);
    expect(containers.map(({ isExcluded }) => isExcluded)).toEqual([true, false, false, false]);
  });

  test("has to be of the same form; a circle ends, and a base that is missing is left to the compose tool", () => {
    const list = "services: { a: { image: a, networks: [x] }, b: { extends: a, networks: 1, dns: !reset null } }";
    expect(problemsOf(list)).toEqual([expect.stringContaining("services.b.networks has another type")]);
    const circle = "services: { a: { image: a, extends: b, dns: !reset null }, b: { image: b, extends: a } }";
    expect(problemsOf(circle)).toEqual([]);
    const missing = parsed("services: { a: { image: a, extends: gone, dns: !reset null } }");
    expect(missing.document.services.a).toMatchObject({ extends: "gone" });
  });
});

describe("a compose text", () => {
  test("has a container for each of its services, in their order", () => {
    const { containers } = parsed(`
services:
  web:
    image: nginx:1.27
    ports: ["8080:80", 9000, { target: 443, published: "8443", host_ip: 127.0.0.1 }]
    expose: [80, "443"]
  db:
    image: postgres:16
  job:
    image: worker
    restart: "no"
  quiet:
    build: .
    exclude_from_hc: true
`);
    expect(containers.map(({ volumes: _, replicas: _r, ...rest }) => rest)).toEqual([
      {
        name: "web",
        kind: "application",
        image: "nginx:1.27",
        ports: "8080:80,9000,127.0.0.1:8443:443",
        exposes: "80,443",
        isExcluded: false,
      },
      { name: "db", kind: "database", image: "postgres:16", ports: null, exposes: null, isExcluded: false },
      { name: "job", kind: "application", image: "worker", ports: null, exposes: null, isExcluded: true },
      { name: "quiet", kind: "application", image: null, ports: null, exposes: null, isExcluded: true },
    ]);
  });

  test("keeps what Berth does not read", () => {
    const { document } = parsed(web("logging: { driver: json-file }\nx-note: kept"));
    expect(document.services.web).toMatchObject({ logging: { driver: "json-file" }, "x-note": "kept" });
  });

  test("merges maps, and what a map says itself goes before", () => {
    const { environments } = parsed(`
x-env: &env
  A: 1 # of all
  B: 2
services:
  web:
    image: nginx
    environment: { <<: *env, B: 3 }
`);
    expect(environments.get("web")).toEqual([
      { key: "B", value: "3", comment: null },
      { key: "A", value: "1", comment: "of all" },
    ]);
  });

  const FORMS: readonly (readonly [string, string, string])[] = [
    ["a merge with a tag", "", "{ !!merge <<: *env, B: 2 }"],
    ["a merge of several maps", "", "{ <<: [*env, { B: 2, A: 0 }] }"],
    ["a merge of a list of maps", "", "[{ <<: *env }, B=2]"],
    ["maps in a list", "", "[{ A: 1 }, { B: 2 }]"],
    ["a merge of a list of texts", "x-list: &list [A=1, B=2]\n", "{ <<: *list }"],
    ["a text", "", '"A=1\\n# none\\n\\n B=2"'],
  ];

  test.each(FORMS)("takes an environment that is %s", (_, head, environment) => {
    const text = `x-env: &env { A: 1 }\n${head}services: { web: { image: a, environment: ${environment} } }`;
    const entries = (parsed(text).environments.get("web") ?? []).map(({ key, value }) => [key, value] as const);
    expect(Object.fromEntries(entries)).toEqual({ A: "1", B: "2" });
  });

  test.each([
    [web("ports: 80"), "services.web.ports: Must be a list.", 4, 5],
    [
      web("environment:\n  A: { b: 1 }"),
      "services.web.environment.A: Must be a text, or a number, or true or false",
      5,
      7,
    ],
    [web("environment: 5"), "services.web.environment: Must be a text, or a list, or a map.", 4, 5],
    [web("imagee: a"), "services.web.imagee: Unknown key; image is probably meant", 4, 5],
    [web("volumes:\n  - a:/a\n  - { source: a }"), "services.web.volumes.1.target: Must be a text.", 6, 9],
    ["services:\n  my.web:\n    build: { ssh: [a] }", "services.my.web.build.ssh: Keys are not passed on", 3, 14],
    ["services:\n  web:\n    ports: [80]", "services.web: Needs an image", 2, 3],
  ])("names line and column of what is wrong in %j", (text, sentence, line, column) => {
    const [problem] = problemsOf(text);
    expect(problem).toContain(sentence);
    expect(problem).toMatch(new RegExp(`\\. See line ${line}, column ${column}\\.$`));
    expect(placeInProblem(problem ?? "")).toEqual({ line, column });
  });

  test.each([
    ["couchdb", 'healthcheck: { test: ["CMD", "curl", "-f", "http://localhost:5984/_up"] }', "application"],
    ["clickhouse/clickhouse-server", "healthcheck: { test: wget --spider localhost:8123/ping }", "application"],
    ["questdb/questdb", "environment: [SERVICE_URL_QUESTDB_9000]", "application"],
    ["couchdb", "", "database"],
    ["postgres", 'healthcheck: { test: ["CMD", "pg_isready"] }', "database"],
    ["postgres", 'environment: { A: "$SERVICE_URL_WEB" }', "database"],
  ])("the image %s with %j is shown as an %s", (image, lines, kind) => {
    const text = web(lines).replace("nginx", image);
    expect(parsed(text).containers[0]?.kind).toBe(kind);
  });

  test.each([
    ["a list is no map", "- a", /map with the key services/],
    ["nothing at all", "", /map with the key services/],
    ["no services", "services: {}", /at least one container/],
    ["services that are a text", "services: web", /at least one container/],
    ["two documents", "services: {}\n---\nservices: {}", /exactly one/],
    ["broken YAML, with its place", "services:\n  web: [", /line 2, column \d+/],
    ["a key that is there twice", "services:\n  web: {image: a}\n  web: {image: b}", /web is there twice at line 3/],
    ["an alias of nothing", "services: *all", /\*all is not defined/],
    ["an alias of itself", "services: &all [*all]", /\*all is not defined/],
    ["a merge of what is no map", "services:\n  web: {image: a}\n  <<: 5", /merged with << at line 3, column 3/],
    ["a key of an object's prototype", "services:\n  __proto__: {image: a}", /__proto__ is not allowed/],
    ["a map as a key", "services:\n  ? {a: b}\n  : {image: a}", /plain text/],
    ["a NUL", 'services:\n  web: {image: "a\\0"}', /cannot be stored/],
    ["half a character", 'services:\n  web: {image: "\\ud800"}', /cannot be stored/],
    ["neither image nor build", "services:\n  web: {ports: [80]}", /services.web: Needs an image/],
    ["a wrong type, with its place", web("ports: 80"), /services.web.ports: /],
    ["a name with a space", "services:\n  my web: {image: a}", /letters, digits/],
    ["a name with a shell's characters", "services:\n  web;id: {image: a}", /letters, digits/],
    ["a name that is too long", `services:\n  ${"w".repeat(64)}: {image: a}`, /at most 63/],
    ["another file", `${web("")}\ninclude: [other.yaml]`, /include/],
    ["a file of the control plane", web("env_file: /etc/passwd"), /\/etc\/passwd is not in the service's own folder/],
    ["one upwards", web("env_file: [{path: ../.env}]"), /\.\.\/\.env is not/],
    ["one that a variable names", web("env_file: $FILE"), /\$FILE is not/],
    ["a build of another folder", web("build: { context: / }"), /\/ is not/],
    ["a secret of another folder", `${web("")}\nsecrets: { key: { file: /root/.ssh/id } }`, /secrets.key/],
    ["a base in another file", web("extends: { file: /x.yaml, service: a }"), /x.yaml/],
    ["a program of the control plane", web("provider: { type: sh }"), /Providers cannot be used/],
  ])("is refused for %s", (_, text, sentence) => {
    expect(problemsOf(text).join("\n")).toMatch(sentence);
  });

  test.each(["`id`", "$(id)", "a;b", "a|b", "a&b", "a<b", "a>b", "a\\nb", "a\\tb", "${A:-`id`}", "${A"])(
    "is refused for a volume whose source or target holds %s",
    (part) => {
      expect(problemsOf(web(`volumes: [{ type: bind, source: "./${part}", target: /a }]`))).toHaveLength(1);
      expect(problemsOf(web(`volumes: [{ type: bind, source: ./a, target: "/${part}" }]`))).toHaveLength(1);
    },
  );

  test.each(["${A}${B}", "${A:?m}"])("is refused for a volume whose source holds %s", (part) => {
    expect(problemsOf(web(`volumes: [{ type: bind, source: "./${part}", target: /a }]`))).toHaveLength(1);
  });

  test.each(["/${A}${B}", "${A:?m}", "/data/${A:-x:y}", "${A-/data}"])(
    "takes a volume whose target is %s",
    (target) => {
      expect(problemsOf(web(`volumes: [{ type: volume, source: a, target: "${target}" }]`))).toEqual([]);
      const compose = parsed(web(`volumes: ["a:${target}:ro"]`));
      expect(compose.containers[0]?.volumes).toMatchObject([{ name: "a", mountPath: target, isReadOnly: true }]);
    },
  );

  test.each(["${DATA}", "${DATA:-./data}", "${DATA-/srv}", "${DATA}/files"])(
    "takes a volume whose source is %s",
    (source) => expect(problemsOf(web(`volumes: ["${source}:/data"]`))).toEqual([]),
  );

  test("reads volumes in both forms, and passes over those that keep nothing", () => {
    const { containers } = parsed(
      web(`volumes:
  - data:/data
  - ./conf:/etc/conf:ro
  - /anonymous
  - { type: tmpfs, target: /tmp }
  - { type: bind, source: ./app.conf, target: /app.conf, content: "a=1" }
  - { type: bind, source: ./dir, target: /dir, is_directory: true, read_only: true }`),
    );
    const none = { name: null, hostPath: null, content: null, isReadOnly: false, isDirectory: false };
    expect(containers[0]?.volumes).toEqual([
      { ...none, name: "data", mountPath: "/data" },
      { ...none, hostPath: "./conf", mountPath: "/etc/conf", isReadOnly: true },
      { ...none, hostPath: "./app.conf", mountPath: "/app.conf", content: "a=1" },
      { ...none, hostPath: "./dir", mountPath: "/dir", isDirectory: true, isReadOnly: true },
    ]);
  });
});

describe("the work for a compose text is bounded", () => {
  const bomb = "abcdefghi"
    .split("")
    .map((name, index) => `${name}: &${name} [${`*${"abcdefghi"[index - 1] ?? "a"},`.repeat(index === 0 ? 0 : 9)}x]`)
    .join("\n");
  test.each([
    ["nested lists", "[".repeat(100_000)],
    ["nested dashes", "- ".repeat(100_000)],
    ["nested keys", "? ".repeat(100_000)],
    ["aliases of aliases", bomb],
    ["aliases of a long text", web(`volumes: [&long "${"a:".repeat(100_000)}"${", *long".repeat(5000)}]`)],
    ["merges of large maps", `a: &a {${"k: 1,".repeat(2)}}\n${"b: {<<: *a}\n".repeat(20_000)}`],
    ["very many keys", Array.from({ length: 100_000 }, (_, index) => `k${index}:`).join("\n")],
    ["very many documents", "---\n".repeat(100_000)],
    ["very many open references", web(`command: "${"${A".repeat(200_000)}"`)],
    ["a text that is too long", `# ${"x".repeat(1_100_000)}`],
    ["too many services", `services:\n${Array.from({ length: 101 }, (_, n) => `  s${n}: {image: a}`).join("\n")}`],
    ["too many variables", web(`command: "${Array.from({ length: 1001 }, (_, n) => `$V${n}`).join("")}"`)],
    ["too many references", web(`command: "${"$V".repeat(50_001)}"`)],
    ["too many volumes", web(`volumes: [${Array.from({ length: 501 }, (_, n) => `v${n}:/v${n}`).join(",")}]`)],
    ["too many URLs", web(`environment: [${Array.from({ length: 501 }, (_, n) => `SERVICE_URL_X=/p${n}`).join(",")}]`)],
    [
      "very many URLs of one name",
      web(`environment: [${Array.from({ length: 15_000 }, (_, n) => `SERVICE_URL_X_${n + 1}=/p${n}`).join(",")}]`),
    ],
    ["a default that no environment holds", web(`command: "\${A:-${"x".repeat(131_073)}}"`)],
  ])("%s", (_, text) => {
    const cost = cpuCost(() => {
      const isRefused = problemsOf(text).length > 0;
      if (!text.includes("${A${A")) expect(isRefused).toBe(true);
    });
    expect(cost).toBeLessThan(300);
  });

  // Fragments with a meaning for the parser, and some without one.
  const piece = fc.constantFrom(
    ..."[]{}:-,?&*!|>'\"%@`#$ \n\t".split(""),
    ..."\n  ,services:,image: a,a: b,- a,<<: *a,&a ,*a ,${A:-,${A:?m},$$,!!binary ,!!set ,--- ,... ,\\0,\u2028".split(
      ",",
    ),
  );
  const noise = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.array(piece, { maxLength: 60 }).map((parts) => parts.join("")),
  );

  test("whatever the text: it is read, or refused with 422", () => {
    const text = fc.oneof(
      noise,
      noise.map(web),
      noise.map((lines) => `services:\n  web:\n${lines}`),
    );
    fc.assert(
      fc.property(text, fc.constantFrom("docker_compose", "docker_compose_raw"), (sent, field) => {
        try {
          const source = serviceSource({ [field]: sent });
          if (!("type" in source)) expect(source.containers.length).toBeGreaterThan(0);
        } catch (refusal) {
          expect(isDomainError(refusal, "request.invalid") && Object.keys(refusal.fields ?? {})).not.toEqual([]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("and whatever the values", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(() => parseCompose(json)).not.toThrow();
        expect(() => parseCompose(`services: {web: {image: a, x: ${json}}}`)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});

describe("what a compose text asks for", () => {
  const used = (lines: string) => parsed(web(lines)).variables;

  test("comments behind entries are those of their variables, in a map as in a list", () => {
    const list = used(`environment:
  - A=\${A:-1} # first
  - B=\${B} #second
  - SERVICE_PASSWORD_X # made
  - C=#no comment`);
    const map = used(`environment:
  A: \${A:-1} # first
  B: \${B} #second
  SERVICE_PASSWORD_X: # made
  C: "#no comment"`);
    const expected = [
      { key: "A", fallback: "1", isRequired: false, comment: "first" },
      { key: "B", fallback: null, isRequired: false, comment: null },
      { key: "SERVICE_PASSWORD_X", fallback: null, isRequired: false, comment: "made" },
    ];
    // In YAML a comment needs a space before the `#`, but none after it.
    expect(list).toEqual([expected[0], { ...expected[1], comment: "second" }, expected[2]]);
    expect(map).toEqual(list);
  });

  test.each([
    ["${A}", [["A", null, false]]],
    ["$A", [["A", null, false]]],
    ["${A:-d}", [["A", "d", false]]],
    ["${A-d}", [["A", "d", false]]],
    ["${A:-}", [["A", "", false]]],
    ["${A:?needed}", [["A", "needed", true]]],
    ["${A?needed}", [["A", "needed", true]]],
    ["${A:?}", [["A", null, true]]],
    ["http://${A:?needed}/", [["A", null, true]]],
    [
      "${A:?${SERVICE_PASSWORD_A}}",
      [
        ["A", "${SERVICE_PASSWORD_A}", true],
        ["SERVICE_PASSWORD_A", null, false],
      ],
    ],
    [
      "http://${A:-h}:${B-80}/",
      [
        ["A", "h", false],
        ["B", "80", false],
      ],
    ],
    [
      "${A:-${B:-${C}}}",
      [
        ["A", "${B:-${C}}", false],
        ["B", "${C}", false],
        ["C", null, false],
      ],
    ],
    [
      "${A:+${B}}",
      [
        ["A", null, false],
        ["B", null, false],
      ],
    ],
    ["$$A $${B} ${1} $ ${A", []],
  ] as const)("%s", (value, variables) => {
    const read = used(`environment:\n  X: "${value}"`);
    expect(read.map(({ key, fallback, isRequired }) => [key, fallback, isRequired])).toEqual(variables);
  });

  test("one of several mentions may say the default, another that it is required", () => {
    expect(used("environment:\n  X: ${A}\n  Y: ${A:-1}\n  Z: ${A:?m}")).toEqual([
      { key: "A", fallback: "1", isRequired: true, reason: "m", comment: null },
    ]);
  });

  test("the text of a required variable is its first value in an environment alone", () => {
    expect(used("command: ${A:?of the command}")).toEqual([
      { key: "A", fallback: null, isRequired: true, reason: "of the command", comment: null },
    ]);
  });

  test("a name that only begins like one that is made keeps its value", () => {
    expect(
      used('environment: { SERVICE_KEY: "$SERVICE_USER_X", SERVICE_OTHER: "", SERVICE_HEX_32_Y: "" }'),
    ).toMatchObject([{ key: "SERVICE_USER_X" }, { key: "SERVICE_HEX_32_Y" }]);
  });

  test("a mounted file is its own text: what looks like a variable in it is none", () => {
    const compose = parsed(
      web(`environment: { A: "$B" }
volumes:
  - { type: bind, source: ./$DIR, target: /c, content: "key: \${KEY} $SERVICE_PASSWORD_X $SERVICE_URL_WEB_80" }`),
    );
    expect(compose.variables.map(({ key }) => key)).toEqual(["B", "DIR"]);
    expect(compose.urls).toEqual([]);
    const document = interpolatedDocument(compose.document, { DIR: "conf", KEY: "read" });
    expect(document.services.web?.volumes).toMatchObject([
      { source: "./conf", content: "key: ${KEY} $SERVICE_PASSWORD_X $SERVICE_URL_WEB_80" },
    ]);
  });

  test("what every release gets is not a variable of its own", () => {
    const used = parsed(
      web(
        'environment: ["A=${COOLIFY_RESOURCE_UUID:?}", "B=$BERTH_APP_NAME", "C=$COOLIFY_FQDN", "D=${BERTH_URL}", "E=$COOLIFY_TOKEN"]',
      ),
    );
    expect(used.variables.map(({ key }) => key)).toEqual(["COOLIFY_TOKEN"]);
  });

  test("a secret and a config of a variable name it", () => {
    const { variables } = parsed(
      `${web("secrets: [key]")}\nsecrets: { key: { environment: API_KEY } }\nconfigs: { app: { environment: APP } }`,
    );
    expect(variables.map(({ key }) => key)).toEqual(["APP", "API_KEY"]);
  });

  test("variables stand anywhere in the file, not only in environments", () => {
    const { variables } = parsed(`
services:
  web:
    image: nginx:\${TAG:-1}
    ports: ["\${PORT:-80}:80"]
    labels: { a: $LABEL }
volumes:
  data: { name: "\${VOLUME}" }
`);
    expect(variables.map(({ key }) => key)).toEqual(["TAG", "PORT", "LABEL", "VOLUME"]);
  });

  test("an entry without a value is passed on from outside", () => {
    expect(used("environment:\n  - A\n  - B=1").map(({ key }) => key)).toEqual(["A"]);
  });

  test.each([
    ["", 1],
    ["scale: 3", 3],
    ["deploy: { replicas: 0 }", 0],
    ["{ scale: 2, deploy: { replicas: 2 } }", 2],
    ["scale: ${COUNT:-4}", 4],
  ])("%j asks for %i containers", (lines, replicas) => {
    const text = lines.startsWith("{") ? `services: { web: { image: a, ${lines.slice(1, -1)} } }` : web(lines);
    expect(parsed(text).containers[0]).toMatchObject({ replicas, isExcluded: replicas === 0 });
  });

  test.each(["scale: -1", "scale: 1.5", "scale: many", "scale: 101", "scale: 2\ndeploy: { replicas: 3 }"])(
    "%j is refused",
    (lines) => expect(problemsOf(web(lines))).toHaveLength(1),
  );

  test("a container that ends when it has done its work, or is not started, is not counted", () => {
    const isExcluded = (lines: string) => parsed(web(lines)).containers[0]?.isExcluded;
    expect(isExcluded("deploy: { restart_policy: { condition: none } }")).toBe(true);
    expect(isExcluded("restart: always\ndeploy: { restart_policy: { condition: none } }")).toBe(false);
    expect(isExcluded("profiles: [debug]")).toBe(true);
  });

  test("a number keeps the form it was written in", () => {
    const { environments } = parsed(web("environment: { V: 1.10, PHONE: 0123, FLAG: TRUE, EMPTY: '' }"));
    expect(environments.get("web")?.map(({ value }) => value)).toEqual(["1.10", "0123", "TRUE", ""]);
  });
});
