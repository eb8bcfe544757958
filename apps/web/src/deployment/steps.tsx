import { Text } from "@mantine/core";
import type { Outputs } from "../api/client.ts";
import { runStateOf, State } from "../parts/state.tsx";
import { Elapsed } from "../parts/time.tsx";

export type ShownStep = Outputs["deployments"]["steps"][number];

export const Steps = ({ steps }: { readonly steps: readonly ShownStep[] }) => (
  <ol className="steps" aria-label="Steps">
    {steps.map(({ name, status, started_at, finished_at, error }) => {
      const state = runStateOf(status);
      return (
        <li key={name} title={error ?? undefined}>
          <State state={{ ...state, word: name }} />{" "}
          <Text span size="sm" c="dimmed">
            {started_at === null ? state.word.toLowerCase() : <Elapsed from={started_at} to={finished_at} />}
            {status === "failed" && " failed"}
            {status === "undone" && ", undone"}
          </Text>
        </li>
      );
    })}
  </ol>
);
