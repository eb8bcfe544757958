import { Alert, Code, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Facts, Loaded, Section } from "../parts/page.tsx";
import { Status } from "../parts/state.tsx";

export default function ProxyTab({ uuid }: { readonly uuid: string }) {
  const query = useQuery(trpc.serverProxies.get.queryOptions({ uuid }));
  const domains = useQuery(trpc.servers.domains.queryOptions({ server_uuid: uuid })).data ?? [];
  const told = ({ message }: { readonly message: string }) => notify(message);
  return (
    <Loaded query={query}>
      {({ proxy_type, status, problem, redirect_url, configuration }) => (
        <Stack>
          <Section
            title="Proxy"
            about="It receives all public requests of this server and forwards each to what has its URL."
            actions={
              <Group gap="xs">
                <ActionButton work={() => client.serverProxies.start.mutate({ uuid })} after={told}>
                  Start
                </ActionButton>
                <ActionButton work={() => client.serverProxies.restart.mutate({ uuid })} after={told}>
                  Restart
                </ActionButton>
                <ActionButton
                  question="Stop the proxy? The URLs of this server then stop answering."
                  work={() => client.serverProxies.stop.mutate({ uuid })}
                  after={told}
                >
                  Stop
                </ActionButton>
              </Group>
            }
          >
            {problem !== null && <Alert color="red" variant="outline" title={problem} mb="sm" />}
            <Facts
              rows={[
                ["Kind", proxy_type ?? "none"],
                ["State", <Status key="state" status={status ?? "exited"} />],
                ["Unknown names", redirect_url ?? "answered with 404"],
              ]}
            />
          </Section>
          <Section title="Names it serves">
            {domains.length === 0 ? (
              <Text size="sm">None.</Text>
            ) : (
              domains
                .flatMap((each) => (typeof each === "string" ? each : each.domains))
                .map((name) => (
                  <Text key={name} size="sm" className="mono break">
                    {name}
                  </Text>
                ))
            )}
          </Section>
          {configuration !== null && (
            <Section title="Configuration">
              <Code block tabIndex={0} role="region" aria-label="Configuration of the proxy">
                {configuration}
              </Code>
            </Section>
          )}
        </Stack>
      )}
    </Loaded>
  );
}
