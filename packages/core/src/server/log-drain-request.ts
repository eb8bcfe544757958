import type { FluentBitOutput } from "./fluent-bit.ts";
import type { LogDrain } from "./log-drain.ts";

/** Where a line comes from. */
export interface DrainedSource {
  readonly server_name: string;
  readonly project_name: string;
  readonly environment_name: string;
  readonly resource_kind: string;
  readonly resource_name: string;
  readonly resource_uuid: string;
  readonly deployment_uuid: string;
  /** 0: not of a preview. */
  readonly pull_request_id: number;
}

export interface DrainedLine {
  /** When it was printed, in RFC 3339. */
  readonly moment: string;
  readonly line: string;
  /** The container that printed it, if the release has several. */
  readonly container?: string | undefined;
  readonly source: DrainedSource;
}

export interface LogDrainRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Without compression. */
  readonly body: string;
  readonly isCompressed: boolean;
}

/** The request that delivers a batch. @param axiomUrl Address of Axiom's API. */
export function logDrainRequest(drain: LogDrain, lines: readonly DrainedLine[], axiomUrl: string): LogDrainRequest {
  if (drain.type === "newrelic") {
    return {
      url: drain.url,
      headers: { "content-type": "application/json", "api-key": drain.licenseKey },
      body: JSON.stringify(newRelicBlocks(lines)),
      isCompressed: true,
    };
  }
  if (drain.type === "axiom") {
    return {
      url: `${axiomUrl}/v1/datasets/${encodeURIComponent(drain.dataset)}/ingest`,
      headers: { "content-type": "application/json", authorization: `Bearer ${drain.apiKey}` },
      body: JSON.stringify(lines.map((line) => ({ _time: line.moment, message: line.line, ...attributesOf(line) }))),
      isCompressed: true,
    };
  }
  const { output } = drain;
  const body = output.plugin === "loki" ? JSON.stringify(lokiStreams(output, lines)) : recordsText(output, lines);
  return { url: output.url, headers: output.headers, body, isCompressed: output.isCompressed };
}

/** One block for each source, since New Relic reads common attributes once for all lines of a block. */
const newRelicBlocks = (lines: readonly DrainedLine[]) =>
  [...Map.groupBy(lines, sourceKey).values()].map((own) => ({
    common: { attributes: own[0] === undefined ? {} : attributesOf(own[0]) },
    logs: own.map(({ moment, line }) => ({ timestamp: Date.parse(moment), message: line })),
  }));

const sourceKey = ({ source, container }: DrainedLine) => `${source.deployment_uuid} ${container ?? ""}`;

function attributesOf({ source, container }: DrainedLine): Readonly<Record<string, string | number>> {
  const { pull_request_id, ...attributes } = source;
  return {
    ...attributes,
    ...(pull_request_id === 0 ? {} : { pull_request_id }),
    ...(container === undefined ? {} : { container_name: container }),
  };
}

function recordsText({ format, dateKey, dateFormat }: FluentBitOutput, lines: readonly DrainedLine[]): string {
  const records = lines.map((line) => ({
    ...(dateKey === null ? {} : { [dateKey]: DATES[dateFormat](line.moment) }),
    log: line.line,
    ...attributesOf(line),
  }));
  if (format === "json") return JSON.stringify(records);
  return records.map((record) => JSON.stringify(record)).join(format === "json_lines" ? "\n" : "");
}

const DATES: Readonly<Record<FluentBitOutput["dateFormat"], (moment: string) => string | number>> = {
  double: (moment) => Date.parse(moment) / 1000,
  iso8601: (moment) => moment,
  epoch: (moment) => Math.floor(Date.parse(moment) / 1000),
  epoch_ms: (moment) => Date.parse(moment),
};

/** A stream for each source. Loki orders the lines of a stream by their nanoseconds. */
const lokiStreams = ({ labels }: FluentBitOutput, lines: readonly DrainedLine[]) => ({
  streams: [...Map.groupBy(lines, sourceKey).values()].map((own) => ({
    stream: { ...(own[0] === undefined ? {} : lokiLabels(own[0])), ...labels },
    values: own.map(({ moment, line }) => [nanosecondsOf(moment), line]),
  })),
});

const lokiLabels = (line: DrainedLine) => {
  // Each deployment would be a stream of its own.
  const { deployment_uuid: _deployment, ...attributes } = attributesOf(line);
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, String(value)]));
};

/** Docker's moments have nine fractional digits, of which a date keeps three. */
function nanosecondsOf(moment: string): string {
  const fraction = (/\.(\d{1,9})/.exec(moment)?.[1] ?? "").padEnd(9, "0");
  return `${Math.floor(Date.parse(moment) / 1000)}${fraction}`;
}
