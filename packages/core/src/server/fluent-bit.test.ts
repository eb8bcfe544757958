import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isMoment } from "../cpu-cost.fixture.ts";
import { checkFluentBitParsers, FluentBitProblem, readFluentBitOutput } from "./fluent-bit.ts";

const output = (...lines: string[]) => ["[OUTPUT]", ...lines.map((line) => `    ${line}`)].join("\n");
const HTTP = ["Name http", "Match *", "Host logs.example.com", "Format json"];

function problemOf(config: string): string {
  try {
    readFluentBitOutput(config);
  } catch (problem) {
    if (problem instanceof FluentBitProblem) return problem.message;
    throw problem;
  }
  return "";
}

describe("readFluentBitOutput", () => {
  test("reads an output of http with everything that is supported", () => {
    const config = output(
      ...HTTP,
      "# a comment",
      "Port 8443",
      "URI /ingest?stream=shop",
      "tls On",
      "tls.verify On",
      "Header X-Api-Key s3cr3t value",
      "Header X-Other 1",
      "compress gzip",
      "json_date_key @timestamp",
      "json_date_format iso8601",
      "http_User me",
      "http_Passwd p:w",
      "Retry_Limit False",
    );
    expect(readFluentBitOutput(config)).toEqual({
      plugin: "http",
      url: "https://logs.example.com:8443/ingest?stream=shop",
      headers: {
        "content-type": "application/json",
        authorization: "Basic bWU6cDp3",
        "x-api-key": "s3cr3t value",
        "x-other": "1",
      },
      isCompressed: true,
      format: "json",
      dateKey: "@timestamp",
      dateFormat: "iso8601",
      labels: {},
    });
  });

  test("holds up nobody with the spaces of a label", () => {
    const config = output("name loki", "host ::1", `labels job=a${" ".repeat(32_000)}$`);
    expect(isMoment(() => problemOf(config))).toBe(true);
  });

  test("reads an output of Loki", () => {
    const config = output("name loki", "host ::1", "labels job=shop, env = live", "tenant_id t1", "bearer_token abc");
    expect(readFluentBitOutput(config)).toMatchObject({
      plugin: "loki",
      url: "http://[::1]:3100/loki/api/v1/push",
      headers: { authorization: "Bearer abc", "x-scope-orgid": "t1" },
      labels: { job: "shop", env: "live" },
    });
  });

  test("has Fluent Bit's own defaults", () => {
    expect(readFluentBitOutput(output("Name http", "Host h", "Format json_lines"))).toMatchObject({
      url: "http://h:80/",
      dateKey: "date",
      dateFormat: "double",
      isCompressed: false,
    });
    expect(readFluentBitOutput(output(...HTTP, "json_date_key false")).dateKey).toBeNull();
    expect(readFluentBitOutput(output("Name loki", "Host h")).labels).toEqual({ job: "fluent-bit" });
  });

  test("leaves out how Fluent Bit itself would get the lines", () => {
    const before = "[SERVICE]\n  Flush 5\n  Parsers_File parsers.conf\n[INPUT]\n  Name forward\n  Buffer_Max_Size 6M\n";
    expect(readFluentBitOutput(before + output(...HTTP))).toEqual(readFluentBitOutput(output(...HTTP)));
  });

  test.each([
    ["", "Line 1: There is no [OUTPUT] section."],
    ["[SERVICE]\n  Flush 5", "Line 1: There is no [OUTPUT] section."],
    ["Name http", "Line 1: It is outside of a section."],
    [`${output(...HTTP)}\n${output(...HTTP)}`, "Line 6: A second [OUTPUT] section is not supported."],
    ["[FILTER]\n  Name grep", "Line 2: A section [FILTER] is not supported."],
    ["[INPUT]\n  Name tail", "Line 2: A section [INPUT] with Name tail is not supported."],
    ["@INCLUDE /etc/passwd", "Line 1: @INCLUDE is not supported."],
    [output("Match *"), "Line 1: [OUTPUT] has no Name. Set Name to http or loki."],
    [output("Name s3"), "Line 2: An output s3 is not supported. Set Name to http or loki."],
    [output("Name http", "Host h"), "Line 1: Fluent Bit's own format msgpack is not supported."],
    [output("Name http", "Host h", "Format msgpack"), "Line 4: format msgpack is not supported. Supported: json, "],
    [output("Name http", "Format json"), "Line 1: [OUTPUT] has no Host."],
    [output(...HTTP, "Host other"), "Line 6: host is set twice."],
    [output(...HTTP, "Match app.*"), "Line 6: match is set twice."],
    [output("Name http", "Match app.*"), "Line 3: Lines have no tags to select by. Set Match to *."],
    [output(...HTTP, "Port 70000"), "Line 6: Port is not a number from 1 to 65535."],
    [output(...HTTP, "Port 8e1"), "Line 6: Port is not a number from 1 to 65535."],
    [output("Name http", "Format json", "Host h/path"), "Line 4: Host is not a host name or an address."],
    [output("Name http", "Format json", "Host me@h"), "Line 4: Host is not a host name or an address."],
    [output(...HTTP, "URI ingest"), "Line 6: URI is not a path."],
    [output(...HTTP, "URI /a b"), "Line 6: URI is not a path."],
    [output(...HTTP, "tls maybe"), "Line 6: tls is neither On nor Off."],
    [output(...HTTP, "tls.verify Off"), "Line 6: A certificate is always checked."],
    [output(...HTTP, "Header Host internal"), "Line 6: The header Host is set by Berth itself."],
    [output(...HTTP, "Header Content-Length 0"), "Line 6: The header Content-Length is set by Berth itself."],
    [output(...HTTP, "Header X-Name"), "Line 6: Header needs a name and a value."],
    [output(...HTTP, "Header X:Name a"), "Line 6: Header needs a name and a value."],
    [output(...HTTP, "Header X-Name ü"), "Line 6: A header has only characters of ASCII."],
    [output(...HTTP, "Header X-Name a\rX-Other b"), "Line 6: It has a control character."],
    [output(...HTTP, "Header X-Name a\u2028b"), "Line 6: It has a control character."],
    [output(...HTTP, "http_Passwd x"), "Line 6: http_passwd needs http_user."],
    [output(...HTTP, `http_User ${"$"}{HOME}`), "Line 6: Variables of Fluent Bit's environment are not supported."],
    [output(...HTTP, "tenant_id x"), "Line 6: tenant_id is not supported. Supported for http: name, match, "],
    [output(...HTTP, "Proxy http://p"), "Line 6: proxy is not supported."],
    [output(...HTTP, "compress"), "Line 6: compress has no value."],
    [output("Name loki", "Host h", "labels job=$app"), "Line 4: The label job=$app is not supported."],
  ])("refuses %j with its line and a remedy", (config, problem) => {
    expect(problemOf(config)).toContain(problem);
  });

  test("does not repeat a long value, which may be a secret in the wrong place", () => {
    expect(problemOf(output(`Name ${"s3cr3t".repeat(20)}`)).length).toBeLessThan(200);
  });

  test("makes an address of the named host and headers of one line of whatever it accepts", () => {
    const key = fc.constantFrom(
      "Host",
      "Port",
      "URI",
      "Header",
      "Header X-A",
      "http_User",
      "bearer_token",
      "tenant_id",
    );
    const line = fc.tuple(key, fc.string({ unit: "binary", maxLength: 20 })).map(([name, value]) => `${name} ${value}`);
    const configs = fc.tuple(fc.constantFrom("http", "loki"), fc.array(line, { maxLength: 4 }));
    fc.assert(
      fc.property(configs, ([plugin, lines]) => {
        const config = output(`Name ${plugin}`, "Host h", ...(plugin === "http" ? ["Format json"] : []), ...lines);
        if (problemOf(config) !== "") return;
        const { url, headers } = readFluentBitOutput(config);
        expect(new URL(url)).toMatchObject({ hostname: "h", username: "", hash: "" });
        for (const [name, value] of Object.entries(headers)) {
          expect(name).toMatch(/^[!#$%&'*+.^_`|~0-9a-z-]+$/);
          expect(value).toMatch(/^[\x20-\x7e]+$/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("checkFluentBitParsers", () => {
  test("accepts definitions of parsers, and nothing else", () => {
    expect(() => checkFluentBitParsers("[PARSER]\n  Name empty\n  Regex /^(?!\\s*$).+/\n")).not.toThrow();
    expect(() => checkFluentBitParsers("")).not.toThrow();
    expect(() => checkFluentBitParsers("\n[OUTPUT]\n  Name http")).toThrow(
      "Line 2: A section [OUTPUT] is not supported",
    );
  });
});
