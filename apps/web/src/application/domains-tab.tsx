import { ApplicationUpdate } from "@berth/core/application";
import { Anchor, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, trpc } from "../api/client.ts";
import { notify } from "../parts/action.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { DeployAgain } from "../resource/deploy-again.tsx";
import type { PanelProps } from "../resource/panel.ts";

const FIELDS: readonly FieldGroup[] = [
  { fields: ["domains", "redirect", "is_force_https_enabled", "is_stripprefix_enabled", "is_gzip_enabled"] },
  { title: "When another resource has the URL", fields: ["force_domain_override"] },
];

export default function DomainsTab({ resource }: PanelProps) {
  const { application, server_uuid } = resource;
  const { data: server } = useQuery(trpc.servers.get.queryOptions({ uuid: server_uuid }));
  const proxy = useQuery(trpc.serverProxies.get.queryOptions({ uuid: server_uuid })).data;
  if (application === undefined) return null;
  const { uuid, fqdn, redirect, settings } = application;
  return (
    <Stack>
      <Section title="URLs">
        {application.urls.length === 0 && <Text size="sm">It has no URL: nothing is routed to it.</Text>}
        <Stack gap="sm">
          {application.urls.map((url) => (
            <div key={url}>
              <Anchor href={url} target="_blank" rel="noreferrer" size="sm" className="break">
                {url}&nbsp;↗
              </Anchor>
              <Facts
                rows={[
                  ["DNS", `${new URL(url).hostname} has to point to ${server?.ip ?? "its server"}`],
                  [
                    "Route",
                    proxy?.status === "running" || server?.engine === "process"
                      ? "the proxy forwards it"
                      : `the proxy is ${proxy?.status ?? "not known"}`,
                  ],
                  [
                    "Certificate",
                    url.startsWith("https:")
                      ? "the proxy gets one from Let's Encrypt and renews it"
                      : "none: it is plain http",
                  ],
                ]}
              />
            </div>
          ))}
        </Stack>
      </Section>
      <Section
        title="Change"
        about="Several URLs are separated by commas. A path after the name routes only what is below it."
      >
        <SchemaForm
          schema={ApplicationUpdate}
          groups={FIELDS}
          values={{ domains: fqdn ?? "", redirect, ...settings }}
          operation="applications.update"
          inputOf={(sent) => ({ uuid, ...sent })}
          submitLabel="Save URLs"
          note={<DeployAgain resource={resource} />}
          submit={(sent) => client.applications.update.mutate({ uuid, ...ApplicationUpdate.parse(sent) })}
          after={({ overridden = [] }) =>
            overridden.length > 0 && notify(overridden.map(({ message }) => message).join(" "))
          }
        />
      </Section>
    </Stack>
  );
}
