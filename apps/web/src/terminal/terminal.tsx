import type { TerminalPlace } from "@berth/core/resource";
import "@xterm/xterm/css/xterm.css";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as Screen } from "@xterm/xterm";
import { useEffect, useRef, useState } from "react";
import { askPassword } from "../parts/confirmation.tsx";
import { openTerminal, type TerminalProblem, type TerminalSocket } from "./terminal-socket.ts";

type State = "opening" | "open" | "ended" | { readonly problem: TerminalProblem };

interface TerminalProps {
  readonly label: string;
  readonly place: TerminalPlace;
}

/** A shell in the page. Ctrl+Shift+Escape moves the focus out of it, since the shell receives Tab. */
export default function Terminal({ label, place }: TerminalProps) {
  const [state, setState] = useState<State>("opening");
  const [run, setRun] = useState(0);
  // What was refused has nothing to show; what an ended shell printed stays readable.
  const [wasOpen, setWasOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const leave = useRef<HTMLButtonElement>(null);
  const where = JSON.stringify(place);

  // A changed `run` opens another shell in the same place.
  useEffect(() => {
    if (box.current === null) return;
    setState("opening");
    setWasOpen(false);
    const screen = new Screen({ screenReaderMode: true, cursorBlink: false, fontSize: 13, scrollback: 5000 });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(box.current);
    fit.fit();
    screen.textarea?.setAttribute("aria-label", label);
    screen.attachCustomKeyEventHandler((event) => {
      if (event.key !== "Escape" || !event.ctrlKey || !event.shiftKey) return true;
      leave.current?.focus();
      return false;
    });
    let socket: TerminalSocket | undefined;
    let isGone = false;
    const connect = () => {
      socket = openTerminal(
        JSON.parse(where) as TerminalPlace,
        { columns: screen.cols, rows: screen.rows },
        {
          onOpened: () => {
            setState("open");
            setWasOpen(true);
            screen.focus();
          },
          onOutput: (bytes) => screen.write(bytes),
          onEnd: async (problem) => {
            if (isGone) return;
            if (problem?.code === "auth.confirmation_required" && (await askPassword())) return isGone || connect();
            setState(problem === undefined ? "ended" : { problem });
          },
        },
      );
    };
    connect();
    screen.onData((text) => socket?.send(text));
    screen.onResize(({ cols, rows }) => socket?.resize({ columns: cols, rows }));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(box.current);
    return () => {
      isGone = true;
      observer.disconnect();
      socket?.close();
      screen.dispose();
    };
  }, [where, label, run]);

  const hasEnded = state === "ended" || typeof state === "object";
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed" role="status">
          {STATES[typeof state === "object" ? "refused" : state]}
        </Text>
        <Button
          ref={leave}
          variant="default"
          size="compact-sm"
          disabled={!hasEnded}
          title={hasEnded ? undefined : "The shell is still open. Type exit to end it."}
          onClick={() => setRun((count) => count + 1)}
        >
          {wasOpen || !hasEnded ? "Open another" : "Try again"}
        </Button>
      </Group>
      {typeof state === "object" && (
        <Alert color="red" variant="outline" role="alert" title={sentenceOf(state.problem)} />
      )}
      <section
        ref={box}
        className="terminal"
        aria-label={label}
        // Its size must be known before it opens.
        style={hasEnded && !wasOpen ? { display: "none" } : undefined}
      />
    </Stack>
  );
}

const STATES = {
  opening: "Opening a shell …",
  open: "Open. It is recorded in the team's activity. Ctrl+Shift+Esc leaves it by keyboard.",
  ended: "The shell has ended.",
  refused: "No shell is open.",
} as const;

/** Refusals that are not about a field have their reason in the list of errors. */
const sentenceOf = ({ message, errors = {} }: TerminalProblem): string =>
  Object.values(errors).flat().join(" ") || message;
