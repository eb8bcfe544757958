import { describe, expect, test } from "vitest";
import { readFluentBitOutput } from "./fluent-bit.ts";
import { DRAINED_SOURCE as source } from "./log-drain.fixture.ts";
import { type DrainedLine, logDrainRequest } from "./log-drain-request.ts";

const MOMENT = "2026-01-02T03:04:05.123456789Z";
const LINES: readonly DrainedLine[] = [
  { moment: MOMENT, line: 'one "quoted"\u0000', source },
  { moment: MOMENT, line: "two", source: { ...source, pull_request_id: 7, deployment_uuid: "d2" }, container: "web-2" },
];
const ATTRIBUTES = { ...source, pull_request_id: undefined };
const custom = (...lines: string[]) => ({
  type: "custom" as const,
  output: readFluentBitOutput(["[OUTPUT]", ...lines].join("\n")),
});
const bodyOf = (drain: Parameters<typeof logDrainRequest>[0], lines = LINES) =>
  JSON.parse(logDrainRequest(drain, lines, "https://api.axiom.co").body);

describe("logDrainRequest", () => {
  test("sends New Relic a block of lines for each source", () => {
    const drain = { type: "newrelic", url: "https://nr.example/log/v1", licenseKey: "key" } as const;
    expect(logDrainRequest(drain, LINES, "")).toMatchObject({
      url: "https://nr.example/log/v1",
      headers: { "api-key": "key", "content-type": "application/json" },
      isCompressed: true,
    });
    const timestamp = Date.parse(MOMENT);
    expect(bodyOf(drain)).toEqual([
      { common: { attributes: { ...ATTRIBUTES } }, logs: [{ timestamp, message: 'one "quoted"\u0000' }] },
      {
        common: { attributes: { ...source, pull_request_id: 7, deployment_uuid: "d2", container_name: "web-2" } },
        logs: [{ timestamp, message: "two" }],
      },
    ]);
  });

  test("sends Axiom an event for each line", () => {
    const drain = { type: "axiom", dataset: "shop-logs", apiKey: "key" } as const;
    expect(logDrainRequest(drain, LINES, "https://api.axiom.co")).toMatchObject({
      url: "https://api.axiom.co/v1/datasets/shop-logs/ingest",
      headers: { authorization: "Bearer key" },
      isCompressed: true,
    });
    expect(bodyOf(drain)[0]).toEqual({ _time: MOMENT, message: 'one "quoted"\u0000', ...ATTRIBUTES });
  });

  test.each([
    ["double", Date.parse(MOMENT) / 1000],
    ["iso8601", MOMENT],
    ["epoch", Math.floor(Date.parse(MOMENT) / 1000)],
    ["epoch_ms", Date.parse(MOMENT)],
  ])("sends records as http of Fluent Bit does, with a date as %s", (format, date) => {
    const drain = custom("Name http", "Host h", "Format json", `json_date_format ${format}`);
    expect(bodyOf(drain)[0]).toEqual({ date, log: 'one "quoted"\u0000', ...ATTRIBUTES });
  });

  test("sends a record per line of text where that is asked for", () => {
    const { body } = logDrainRequest(custom("Name http", "Host h", "Format json_lines"), LINES, "");
    expect(body.split("\n").map((text) => JSON.parse(text).log)).toEqual(['one "quoted"\u0000', "two"]);
  });

  test("sends Loki a stream for each source, with nanoseconds and the labels of the configuration", () => {
    const drain = custom("Name loki", "Host h", "labels job=shop");
    const { streams } = bodyOf(drain);
    expect(streams.map(({ values }: { values: unknown }) => values)).toEqual([
      [["1767323045123456789", 'one "quoted"\u0000']],
      [["1767323045123456789", "two"]],
    ]);
    expect(streams[1].stream).toMatchObject({ job: "shop", resource_name: "api", pull_request_id: "7" });
    expect(streams[1].stream).not.toHaveProperty("deployment_uuid");
  });
});
