import { HetznerServerCreate } from "@berth/core/server";
import { Text } from "@mantine/core";
import { skipToken, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import type { Choices } from "../parts/field.ts";
import { type FieldGroup, SchemaForm, type Values } from "../parts/form.tsx";
import { TextLink } from "../parts/link.tsx";
import { Empty, Loaded, Problem } from "../parts/page.tsx";

type ServerType = Outputs["hetzner"]["serverTypes"][number];
type Image = Outputs["hetzner"]["images"][number];
type Catalogue = {
  readonly [Name in "locations" | "serverTypes" | "images"]: Outputs["hetzner"][Name];
};

const GROUPS: readonly FieldGroup[] = [
  { fields: ["cloud_provider_token_uuid", "private_key_uuid", "location", "server_type", "image", "name"] },
  { title: "Addresses", fields: ["enable_ipv4", "enable_ipv6"] },
  { title: "First start", fields: ["cloud_init_script"] },
];
const DEFAULTS = { enable_ipv4: true, enable_ipv6: true };

/** A form that rents a machine at Hetzner and adds it as a server. What can be chosen is asked of Hetzner. */
export default function RentServer() {
  const query = useQuery(trpc.cloudTokens.list.queryOptions({}));
  return (
    <Loaded query={query}>
      {(all) => {
        const tokens = all.filter(({ provider }) => provider === "hetzner");
        if (tokens.length > 0) return <RentForm tokens={tokens} />;
        return (
          <Empty title="No token of Hetzner Cloud">
            Add one under{" "}
            <TextLink to="/team/{-$tab}" params={{ tab: "clouds" }} size="sm">
              Team → Cloud tokens
            </TextLink>{" "}
            first. It needs the rights to read and to write.
          </Empty>
        );
      }}
    </Loaded>
  );
}

function RentForm({ tokens }: { readonly tokens: Outputs["cloudTokens"]["list"] }) {
  const first = tokens[0]?.uuid ?? "";
  const [chosen, setChosen] = useState<Values>({ cloud_provider_token_uuid: first });
  const navigate = useNavigate();
  const keys = useQuery(trpc.privateKeys.list.queryOptions({})).data ?? [];
  const token = String(chosen.cloud_provider_token_uuid ?? "");
  const asked = token === "" ? skipToken : { cloud_provider_token_uuid: token };
  const locations = useQuery(trpc.hetzner.locations.queryOptions(asked));
  const serverTypes = useQuery(trpc.hetzner.serverTypes.queryOptions(asked));
  const images = useQuery(trpc.hetzner.images.queryOptions(asked));
  const failure = locations.error ?? serverTypes.error ?? images.error;
  const catalogue = {
    locations: locations.data ?? [],
    serverTypes: serverTypes.data ?? [],
    images: images.data ?? [],
  };
  return (
    <>
      <Text size="sm" mb="sm">
        The machine gets the public part of the key for the login of root, then Berth checks it like any other server.
        Hetzner charges for it until it is deleted there: deleting the server here does not do that.
      </Text>
      {failure !== null && <Problem error={failure} />}
      <SchemaForm
        schema={HetznerServerCreate}
        groups={GROUPS}
        values={{ ...DEFAULTS, cloud_provider_token_uuid: first }}
        fixed={{ instant_validate: true }}
        isNew
        onValues={setChosen}
        choices={{
          cloud_provider_token_uuid: tokens.map(({ uuid, name }) => ({ value: uuid, label: name ?? uuid })),
          private_key_uuid: keys.map(({ uuid, name }) => ({ value: uuid, label: name })),
          ...catalogueChoices(catalogue, chosen),
        }}
        submitLabel="Rent it"
        submit={(sent) => client.hetzner.createServer.mutate(sent)}
        after={({ uuid }) => navigate({ to: "/servers/$uuid/{-$tab}", params: { uuid } })}
      />
    </>
  );
}

/** Types that can be rented at the chosen location, and images that run on the chosen type. */
function catalogueChoices({ locations, serverTypes, images }: Catalogue, chosen: Values): Choices {
  const location = String(chosen.location ?? "");
  const type = serverTypes.find(({ name }) => name === chosen.server_type);
  const isAtLocation = ({ prices }: ServerType) =>
    location === "" || prices.some((price) => price.location === location);
  const runsOnType = ({ architecture }: Image) =>
    type?.architecture === undefined || type.architecture === architecture;
  // What was chosen before stays in the list, and says why it does not fit any more.
  return {
    location: locations.map(({ name, city, country }) => ({ value: name, label: `${city}, ${country} (${name})` })),
    server_type: serverTypes
      .filter((one) => isAtLocation(one) || one === type)
      .map((one) => ({
        value: one.name,
        label: isAtLocation(one) ? typeLabel(one, location) : `${one.name}: not available at ${location}`,
      })),
    image: images
      .filter((one) => runsOnType(one) || String(one.id) === String(chosen.image))
      .map((one) => ({
        value: String(one.id),
        label: runsOnType(one) && type !== undefined ? one.description : `${one.description} (${one.architecture})`,
      })),
  };
}

/** Such as `cx22: 2 cores, 4 GB, disk 40 GB, 3.79 a month`; the price has VAT and the currency of the account. */
function typeLabel({ name, cores, memory, disk, prices }: ServerType, location: string): string {
  const price = prices.find((one) => one.location === location)?.price_monthly.gross;
  const cost = price === undefined ? "" : `, ${Number(price).toFixed(2)} a month`;
  return `${name}: ${cores} cores, ${memory} GB, disk ${disk} GB${cost}`;
}
