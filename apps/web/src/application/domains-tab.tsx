import { ApplicationUpdate } from "@berth/core/application";
import { Anchor, Button, Stack, Text } from "@mantine/core";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { client, trpc } from "../api/client.ts";
import { notify } from "../parts/action.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Facts, Problem, Section } from "../parts/page.tsx";
import { State } from "../parts/state.tsx";
import { DeployAgain } from "../resource/deploy-again.tsx";
import type { PanelProps } from "../resource/panel.ts";
import { type DomainCheck, type DomainFact, domainFacts } from "./domain-facts.ts";

const FIELDS: readonly FieldGroup[] = [
  {
    fields: [
      ...["domains", "redirect", "noindex_domains"],
      ...["is_force_https_enabled", "is_stripprefix_enabled", "is_gzip_enabled"],
    ],
  },
  { title: "When another resource has the URL", fields: ["force_domain_override"] },
];

export default function DomainsTab({ resource }: PanelProps) {
  const { application } = resource;
  const checks = useQuery(trpc.applications.domainChecks.list.queryOptions({ uuid: resource.uuid }));
  if (application === undefined) return null;
  const { uuid, fqdn, redirect, noindex_domains, settings } = application;
  return (
    <Stack>
      <Section title="URLs">
        {application.urls.length === 0 && <Text size="sm">It has no URL: nothing is routed to it.</Text>}
        <Stack gap="sm">
          {application.urls.map((url) => (
            <Stack key={url} gap={4}>
              <Anchor href={url} target="_blank" rel="noreferrer" size="sm" className="break">
                {url}&nbsp;↗
              </Anchor>
              <Found url={url} checks={checks} />
            </Stack>
          ))}
        </Stack>
        {application.urls.length > 0 && (
          <Button
            mt="sm"
            variant="default"
            size="compact-sm"
            disabled={checks.isFetching}
            onClick={() => void checks.refetch()}
          >
            {checks.isFetching ? "Checking …" : "Check again"}
          </Button>
        )}
      </Section>
      <Section
        title="Change"
        about="Several URLs are separated by commas. A path after the name routes only what is below it."
      >
        <SchemaForm
          schema={ApplicationUpdate}
          groups={FIELDS}
          values={{ domains: fqdn ?? "", redirect, noindex_domains, ...settings }}
          submitLabel="Save URLs"
          note={<DeployAgain resource={resource} />}
          submit={(sent) => client.applications.update.mutate({ uuid, ...sent })}
          after={({ overridden = [] }) =>
            overridden.length > 0 && notify(overridden.map(({ message }) => message).join(" "))
          }
        />
      </Section>
    </Stack>
  );
}

const rowOf = ({ name, text, tone }: DomainFact): readonly [string, ReactNode] => [
  name,
  <>
    <State state={{ tone, word: "" }} />
    {text}
  </>,
];

type Checks = Pick<UseQueryResult<readonly DomainCheck[], unknown>, "data" | "error" | "isFetching">;

/** What DNS, the proxy and the certificate of a URL are now. */
function Found({ url, checks }: { readonly url: string; readonly checks: Checks }) {
  const check = checks.data?.find((each) => each.url === url);
  if (check !== undefined) return <Facts rows={domainFacts(check).map(rowOf)} />;
  if (checks.error !== null) return <Problem error={checks.error} />;
  return (
    <Text size="sm" c="dimmed">
      {checks.isFetching ? "Asks DNS and the proxy …" : "Only the first 20 URLs are checked."}
    </Text>
  );
}
