import type { FollowedLine } from "@berth/control";
import { lenient } from "@berth/core";
import { tracked } from "@trpc/server";
import { z } from "zod";
import { article, onResource, perKind } from "./per-kind.ts";
import { server_uuid } from "./running-container.ts";
import { resumable } from "./stream.ts";

const LINES_DEFAULT = 100;
const LINES_MAX = 10_000;

/** Anything but a positive number means the default, as clients of this API family expect. */
const lines = z
  .preprocess((value) => {
    const count = Number(value);
    return Number.isInteger(count) && count > 0 ? Math.min(count, LINES_MAX) : LINES_DEFAULT;
  }, z.int().min(1).max(LINES_MAX))
  .describe(`Number of last lines, at most ${LINES_MAX}. Default ${LINES_DEFAULT}.`)
  .optional();

const Logs = z
  .object({ logs: z.string().describe("Lines, oldest first.") })
  .meta({ id: "Logs", description: "Output of a resource." });

const LogLine = z
  .object({
    line: z.string(),
    moment: z.string().optional().describe("When it was printed (RFC 3339), if that is known."),
    container: z.string().optional().describe("Container that printed it, in the log of several replicas."),
    deployment_uuid: z.string().describe("Deployment of the release that printed it."),
  })
  .meta({ id: "LogLine", description: "A line of a resource's output." });

const container = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .describe(
    "Container to read, if there are several; `*`: all, as one log. Default: all replicas of an application; of a service the first that receives requests.",
  );

/** The name that clients of this API family use. */
const sub_service_name = container.describe("The same as `container`, which is used if both are sent.");

const show_timestamps = lenient(z.boolean())
  .optional()
  .describe("Begin each line with the time it was printed (RFC 3339), if that is known.");

const since = z.iso
  .datetime({ offset: true })
  .transform((moment) => new Date(moment).toISOString())
  .optional()
  .describe("Only lines printed since this time (RFC 3339), and those that may have been.");

const previous = lenient(z.boolean())
  .optional()
  .describe("For a stopped resource: the output of its last run, as long as it is kept.");

const pull_request_id = z
  .int()
  .min(0)
  .max(2_147_483_647)
  .optional()
  .describe("The preview of this pull request. 0, the default: the application itself.");

/** A database has only one container. */
const SOURCE_INPUT = {
  application: { container, server_uuid, pull_request_id },
  service: { container, sub_service_name },
  database: {},
};

interface SourceInput {
  readonly lines?: number | undefined;
  readonly since?: string | undefined;
  readonly container?: unknown;
  readonly sub_service_name?: unknown;
  readonly server_uuid?: unknown;
  readonly pull_request_id?: unknown;
}

/** With a time, all lines since then are returned. */
const countOf = ({ lines: count, since: start }: SourceInput) =>
  count ?? (start === undefined ? LINES_DEFAULT : LINES_MAX);

function sourceOf({ container: given, sub_service_name: called, since, ...input }: SourceInput) {
  const name = given ?? called;
  const { server_uuid: serverUuid, pull_request_id: pullRequestId } = input;
  return {
    ...(typeof name === "string" ? { container: name } : {}),
    ...(typeof serverUuid === "string" ? { serverUuid } : {}),
    ...(typeof pullRequestId === "number" ? { pullRequestId } : {}),
    since,
  };
}

export const logs = perKind(["application", "service", "database"], (kind) => ({
  tail: onResource(kind, {
    method: "GET",
    path: "/logs",
    operationId: "get-{kind}-logs-by-uuid",
    summary: `Get the last lines of ${article(kind)}'s output`,
    ability: "read",
    errors: ["resource.not_running", "engine.unreachable", "engine.unsupported"],
    input: z.strictObject({ lines, show_timestamps, since, previous, ...SOURCE_INPUT[kind] }),
  })
    .output(Logs)
    .query(({ ctx, input: { uuid, show_timestamps: hasTimestamps, previous: isPrevious, ...input } }) =>
      ctx.control.logs.tail({ kind, uuid }, countOf(input), {
        ...sourceOf(input),
        hasTimestamps,
        previous: isPrevious,
      }),
    ),

  follow: onResource(kind, {
    method: "GET",
    path: "/logs/follow",
    operationId: "follow-{kind}-logs-by-uuid",
    summary: `Follow ${article(kind)}'s output`,
    description: "Streams the last lines and then new ones, from one release to the next.",
    ability: "read",
    errors: ["resource.not_running", "engine.unreachable", "engine.unsupported"],
    input: z.strictObject({ lines, since, ...SOURCE_INPUT[kind], ...resumable }),
    events: LogLine,
  }).subscription(async ({ ctx, input: { uuid, lastEventId, ...input }, signal }) => {
    const after = lastEventId ?? undefined;
    const options = { lines: countOf(input), after, signal: signal ?? ctx.signal, ...sourceOf(input) };
    return trackedLines(await ctx.control.logs.follow({ kind, uuid }, options));
  }),
}));

async function* trackedLines(lines: AsyncIterable<FollowedLine>) {
  for await (const { cursor, ...line } of lines) yield tracked(cursor, line);
}
