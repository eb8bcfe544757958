import { Tooltip } from "@mantine/core";
import { type Connection, useConnection } from "../api/live.ts";
import { type ShownState, State } from "../parts/state.tsx";

const STATES: Readonly<Record<Connection, ShownState>> = {
  live: { tone: "good", word: "Live", reason: "What you see is up to date." },
  connecting: { tone: "busy", word: "Connecting" },
  lost: { tone: "warn", word: "Offline", reason: "Berth cannot be reached. The page updates once it can." },
};

export function ConnectionState() {
  const state = STATES[useConnection()];
  return (
    <Tooltip label={state.reason ?? state.word}>
      <span role="status">
        <State state={state} />
      </span>
    </Tooltip>
  );
}
