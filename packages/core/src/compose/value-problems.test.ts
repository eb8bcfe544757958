import { describe, expect, test } from "vitest";
import { parseCompose, parseNewCompose } from "./parse.ts";

const problemsOf = (web: string, rest = "") => {
  const compose = parseNewCompose(`services:\n  web:\n    image: nginx\n    ${web}\n${rest}`);
  return "problems" in compose ? compose.problems : [];
};

describe("a value that would fail when containers are started", () => {
  test.each([
    ["depends_on: [db]", "services.web.depends_on: No service is called db. See line 4, column 5."],
    ["depends_on: { db: { condition: service_healthy } }", "services.web.depends_on: No service is called db."],
    ["depends_on: { web: { condition: healthy } }", "services.web.depends_on.web.condition: Must be service_started,"],
    ["healthcheck: { test: [CMD, a], interval: 5 seconds }", "services.web.healthcheck.interval: Must be a duration"],
    ['ports: ["abc:80"]', "services.web.ports.0: Must be CONTAINER, HOST:CONTAINER or ADDRESS:HOST:CONTAINER"],
    ['ports: ["80", "70000:80"]', "services.web.ports.1: Must be CONTAINER"],
    ['ports: ["9-8:80"]', "services.web.ports.0: Must be CONTAINER"],
    ["restart: sometimes", 'services.web.restart: Must be "no", always'],
  ])("%s is refused with its place", (web, problem) => {
    expect(problemsOf(web)).toEqual([expect.stringContaining(problem)]);
    expect(problemsOf(web)[0]).toMatch(/ See line \d+, column \d+\.$/);
  });

  test.each([
    "depends_on: { db: { condition: service_started, required: false } }",
    "depends_on: [web]",
    "depends_on: [$OTHER]",
    "healthcheck: { test: [CMD, a], interval: 1m30s, timeout: 1.5s, start_period: 0, start_interval: $EACH }",
    'ports: ["80", 81, "127.0.0.1:8080:80", "[::1]:82:82", "::1:83:83", "8000-8002:9000-9002/udp", "127.0.0.1::84"]',
    'ports: ["${PORT:-8080}:80", "85:85/tcp", { target: 80, published: "86" }]',
    'restart: "on-failure:3"',
    "restart: no",
    "restart: ${RESTART:-always}",
  ])("%s is accepted", (web) => {
    expect(problemsOf(web)).toEqual([]);
  });

  test("does not refuse a file that is stored already", () => {
    expect(parseCompose("services: { web: { image: nginx, restart: sometimes } }")).not.toHaveProperty("problems");
  });

  test("a port that two containers map is refused, unless they cannot run together", () => {
    const other = (more: string) => `  api:\n    image: nginx\n    ports: ["8080:3000"]\n    ${more}\n`;
    const web = 'ports: ["8080:80", "8080:80"]';
    expect(problemsOf(web, other("restart: always"))).toEqual([
      "services.api.ports.0: Port 8080 of the server is mapped by web too. See line 7, column 13.",
    ]);
    for (const apart of ["profiles: [debug]", "scale: 0", "network_mode: host", 'restart: "no"'])
      expect(problemsOf(web, other(apart))).toEqual([]);
    const after = `depends_on: { api: { condition: service_completed_successfully } }\n    ${web}`;
    expect(problemsOf(after, other("command: obtain"))).toEqual([]);
  });

  test("is read in time that grows with its length", () => {
    expect(problemsOf(`ports: ["${":".repeat(50_000)}"]`)).toHaveLength(1);
    expect(problemsOf(`healthcheck: { test: a, interval: "${"1".repeat(50_000)}" }`)).toHaveLength(1);
  });
});
