import { Button, type ButtonProps, Group, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type ReactNode, useState } from "react";
import { messageOf, problemOf, queryClient } from "../api/client.ts";
import { useCodeMode } from "../api/code-mode.ts";
import { type RecordedCall, recordedCall } from "../api/recording.ts";
import { AllowedButton, type Needs } from "./allowed.tsx";
import { CodeDialog } from "./as-code.tsx";
import { confirmed } from "./confirmation.tsx";
import { Dialog } from "./dialog.tsx";

export const notify = (message: string): void => void notifications.show({ message, color: "indigo" });

export function notifyProblem(error: unknown): void {
  const problem = problemOf(error);
  notifications.show({
    color: "red",
    autoClose: 15_000,
    title: messageOf(error),
    message: problem && `Request ${problem.request_id}`,
  });
}

/** Runs work, never twice at once, then refreshes the page and shows the result. */
export function useAction<Result>(work: () => Promise<Result>, after?: (result: Result) => unknown) {
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      const result = await confirmed(work);
      await after?.(result);
      void queryClient.invalidateQueries();
    } catch (error) {
      notifyProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, run };
}

interface ActionProps<Result> extends Omit<ButtonProps, "loading"> {
  readonly work: () => Promise<Result>;
  readonly after?: (result: Result) => unknown;
  readonly children: ReactNode;
  /** Question to confirm before the work begins. */
  readonly question?: string;
  /** What the work needs. Default: `write`. */
  readonly needs?: Needs;
  /** Whether the work sends a request of the typed client before it waits, which can be shown as code. Default: true. */
  readonly hasCode?: boolean;
  readonly "aria-label"?: string;
}

export function ActionButton<Result>({
  work,
  after,
  children,
  question,
  hasCode = true,
  ...button
}: ActionProps<Result>) {
  const { isBusy, run } = useAction(work, after);
  const [isAsking, setAsking] = useState(false);
  const [code, showCode, closeCode] = useCodeOf(work);
  const isCodeMode = useCodeMode() && hasCode;
  const press = () => {
    if (isCodeMode) return showCode();
    if (question === undefined) void run();
    else setAsking(true);
  };
  return (
    <>
      <AllowedButton variant="default" {...button} disabled={isBusy || button.disabled === true} onClick={press}>
        {isBusy ? "Working …" : children}
      </AllowedButton>
      <CodeDialog call={code} onClose={closeCode} />
      {question !== undefined && (
        <Dialog opened={isAsking} onClose={() => setAsking(false)} title={question} size="sm">
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsking(false)}>
              Keep it
            </Button>
            <Button
              color="red"
              onClick={() => {
                setAsking(false);
                void run();
              }}
            >
              {children}
            </Button>
          </Group>
        </Dialog>
      )}
    </>
  );
}

/** What the work sends, once it is to be shown as code. */
function useCodeOf(work: () => Promise<unknown>) {
  const [code, setCode] = useState<RecordedCall>();
  return [code, () => setCode(recordedCall(work)), () => setCode(undefined)] as const;
}

/** For irreversible actions: the name must be typed. */
export function DangerButton<Result>({
  name,
  children,
  about,
  work,
  after,
  ...button
}: Pick<ButtonProps, "size"> & {
  readonly name: string;
  readonly children: string;
  readonly about: ReactNode;
  readonly work: () => Promise<Result>;
  readonly after?: (result: Result) => unknown;
}) {
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const { isBusy, run } = useAction(work, after);
  const [code, showCode, closeCode] = useCodeOf(work);
  const isCodeMode = useCodeMode();
  const close = () => {
    setOpen(false);
    setTyped("");
  };
  return (
    <>
      <AllowedButton
        {...button}
        color="red"
        variant="outline"
        onClick={() => (isCodeMode ? showCode() : setOpen(true))}
      >
        {children}
      </AllowedButton>
      <CodeDialog call={code} onClose={closeCode} />
      <Dialog opened={isOpen} onClose={close} title={`${children}: ${name}`}>
        <Stack>
          <Text size="sm">{about}</Text>
          <TextInput
            label="Type its name to confirm"
            description={name}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Keep it
            </Button>
            <Button color="red" disabled={typed !== name || isBusy} onClick={() => void run().then(close)}>
              {isBusy ? "Working …" : children}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}
