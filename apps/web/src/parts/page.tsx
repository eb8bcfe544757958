import { Alert, Anchor, Button, Code, Group, Loader, Paper, Stack, Text, Title } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ComponentProps, type ReactNode, useEffect } from "react";
import { messageOf, problemOf, statusOf } from "../api/client.ts";
import { CopyButton } from "./copy.tsx";

/** Title of the page and of the tab, with the main actions beside it. */
export function PageTitle({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}) {
  useDocumentTitle(title);
  return (
    <Group justify="space-between" align="flex-start" mb="md" gap="sm">
      <div style={{ minWidth: 0 }}>
        <Title order={1} className="break">
          {title}
        </Title>
        {children}
      </div>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}

export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Berth`;
  }, [title]);
}

export function Section({
  title,
  actions,
  children,
  about,
}: {
  readonly title: string;
  readonly about?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Group justify="space-between" mb={about === undefined ? "sm" : 4} gap="xs">
        <Title order={2}>{title}</Title>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {about !== undefined && (
        <Text c="dimmed" size="sm" mb="sm">
          {about}
        </Text>
      )}
      {children}
    </Paper>
  );
}

/** Placeholder for an empty page: what it would show, and the first step. */
export function Empty({
  title,
  children,
  action,
  command,
}: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  readonly command?: string;
}) {
  return (
    <Stack align="center" py="xl" gap="xs" ta="center">
      <Text fw={600}>{title}</Text>
      {children !== undefined && (
        <Text c="dimmed" size="sm" maw={480}>
          {children}
        </Text>
      )}
      {action}
      {command !== undefined && <Code>{command}</Code>}
    </Stack>
  );
}

/** An error in the API's own words: reason, remedy, and the request id for the log. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const problem = problemOf(error);
  return (
    <Alert color="red" variant="outline" role="alert" title={messageOf(error)}>
      <Group gap="xs" mt={4}>
        {problem !== undefined && (
          <>
            <Text size="xs">
              Request <span className="mono">{problem.request_id}</span>
            </Text>
            <CopyButton text={problem.request_id} label="Copy id" />
          </>
        )}
        {retry !== undefined && (
          <Button variant="default" size="compact-xs" onClick={retry}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** Shows a query's data, or its error. */
export function Loaded<Data>({
  query,
  children,
}: {
  readonly query: UseQueryResult<Data, unknown>;
  readonly children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Problem error={query.error} retry={() => void query.refetch()} />;
  return <Loader size="sm" m="md" aria-label="Loading" />;
}

/** The same for the object of a whole page. */
export function LoadedPage<Data>(props: ComponentProps<typeof Loaded<Data>>) {
  const { data, error } = props.query;
  return data === undefined && statusOf(error) === 404 ? <Missing error={error} /> : <Loaded {...props} />;
}

/** Other teams' objects are answered like those that do not exist. */
function Missing({ error }: { readonly error: unknown }) {
  return (
    <>
      <PageTitle title={messageOf(error).replace(/\.$/, "")} />
      <Text size="sm" mb="sm">
        It was deleted, or it belongs to another team.
      </Text>
      <Anchor href="/" size="sm">
        To the overview
      </Anchor>
    </>
  );
}

export function Facts({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl
      style={{
        display: "grid",
        gridTemplateColumns: "minmax(90px, max-content) minmax(0, 1fr)",
        gap: "6px 16px",
        margin: 0,
      }}
    >
      {rows.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <Text component="dt" c="dimmed" size="sm">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm" className="break">
            {value}
          </Text>
        </div>
      ))}
    </dl>
  );
}
