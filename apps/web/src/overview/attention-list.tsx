import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { TextLink } from "../parts/link.tsx";
import { State } from "../parts/state.tsx";
import { Age } from "../parts/time.tsx";
import type { Attention } from "../resource/attention.ts";
import { ResourceLink } from "../resource/resource-link.tsx";

export function AttentionList({ items }: { readonly items: readonly Attention[] }) {
  return (
    <section aria-label="Needs attention">
      <Title order={2} mb="xs">
        Needs attention
      </Title>
      {items.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing. Everything that should run does.
        </Text>
      )}
      <Stack gap={4}>
        {items.map(({ key, tone, reason, resource, server, deployment }) => (
          <Paper key={key} withBorder px="sm" py={6} className={`attention-${tone}`}>
            <Group gap="sm" wrap="wrap">
              <State state={{ tone, word: "" }} />
              {resource !== undefined && <ResourceLink {...resource} />}
              {server !== undefined && (
                <TextLink to="/servers/$uuid/{-$tab}" params={{ uuid: server.uuid }} size="sm">
                  {server.name}
                </TextLink>
              )}
              <Text size="sm" className="break" style={{ flex: "1 1 200px" }}>
                {reason}
              </Text>
              {deployment !== undefined && (
                <>
                  <Text size="sm" c="dimmed">
                    <Age at={deployment.finished_at} />
                  </Text>
                  <TextLink to="/deployments/$uuid" params={{ uuid: deployment.deployment_uuid }} size="sm">
                    Open log
                  </TextLink>
                </>
              )}
            </Group>
          </Paper>
        ))}
      </Stack>
    </section>
  );
}
