import { Text } from "@mantine/core";
import { skipToken, useQuery } from "@tanstack/react-query";
import { client, type Outputs, queryClient, trpc } from "../api/client.ts";
import { useStream } from "../api/live.ts";
import { plainText } from "../parts/ansi.ts";
import { Section } from "../parts/page.tsx";
import { State, type Tone } from "../parts/state.tsx";
import { Age } from "../parts/time.tsx";

type Job = Outputs["jobs"]["get"];
type Result = NonNullable<Job["steps"]>[number]["result"];

const TONES: Readonly<Record<Result, Tone>> = { running: "busy", passed: "good", warned: "warn", failed: "bad" };
/** An installation of Docker ends with a validation. */
const VALIDATING: readonly Job["type"][] = ["server.validate", "server.install_engine"];

interface ValidationSectionProps {
  readonly uuid: string;
  /** What is recorded with the server: it may have changed since the validation. */
  readonly said: string | null;
}

/** The end of the output says what is done now, and what failed. */
const OUTPUT_LINES = 12;

/**
 * The checks of a server's newest validation, after the steps of an installation. Each appears with its result as soon
 * as that is known.
 */
export function ValidationSection({ uuid, said }: ValidationSectionProps) {
  const jobs = useQuery(trpc.jobs.list.queryOptions({ subject: uuid, take: 100 }));
  const newest = jobs.data?.find(({ type }) => VALIDATING.includes(type));
  const { data: job } = useQuery(trpc.jobs.get.queryOptions(newest === undefined ? skipToken : { uuid: newest.uuid }));
  const { steps, status, log, error = null, finished_at = null } = job ?? {};
  const isRunning = job !== undefined && finished_at === null;
  const isStepRunning = steps?.some(({ result }) => result === "running") ?? false;
  const found = steps?.filter(({ result }) => result !== "passed").map(({ message }) => message) ?? [];
  const others = isRunning
    ? []
    : [...new Set([said, error])].filter((text) => text !== null && text !== found.join("\n"));
  if (job === undefined && others.length === 0) return null;
  return (
    <Section title="Last check">
      <ol className="checks" aria-label="Checks">
        {steps?.map(({ name, result, message }) => (
          <li key={`${name} ${message}`}>
            <State state={{ tone: TONES[result], word: name }} />
            <Text span size="sm" className="break">
              {message}
            </Text>
          </li>
        ))}
        {isRunning && !isStepRunning && (
          <li>
            <State state={{ tone: "busy", word: status === "queued" ? "Waiting …" : "Checking …" }} />
          </li>
        )}
      </ol>
      {isRunning && <FollowedJob uuid={job.uuid} />}
      {log != null && log !== "" && status !== "finished" && <Output log={log} />}
      {others.map((text) => (
        <Text key={text} size="sm" mt="xs" className="break">
          {text}
        </Text>
      ))}
      {finished_at !== null && (
        <Text size="sm" c="dimmed" mt="xs">
          Checked <Age at={finished_at} />.
        </Text>
      )}
    </Section>
  );
}

/** Events report the steps of a job; what it prints is read only here. */
function FollowedJob({ uuid }: { readonly uuid: string }) {
  useStream<Job>(
    uuid,
    (handlers) => client.jobs.follow.subscribe({ uuid }, handlers),
    (job) => queryClient.setQueryData(trpc.jobs.get.queryKey({ uuid }), job),
  );
  return null;
}

const Output = ({ log }: { readonly log: string }) => (
  <pre className="output" role="log" aria-label="Output">
    {log.split("\n").slice(-OUTPUT_LINES).map(plainText).join("\n")}
  </pre>
);
