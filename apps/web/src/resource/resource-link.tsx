import type { ResourceKind } from "@berth/core/resource";
import { Group } from "@mantine/core";
import { TextLink } from "../parts/link.tsx";
import { ApplicationIcon, DatabaseIcon, ServiceIcon } from "../shell/icons.tsx";
import { kindOf, plurals } from "./kinds.ts";

const ICONS: Readonly<Record<ResourceKind, typeof ApplicationIcon>> = {
  application: ApplicationIcon,
  database: DatabaseIcon,
  service: ServiceIcon,
};

export const KindIcon = ({ kind }: { readonly kind: ResourceKind }) => {
  const Icon = ICONS[kind];
  return <Icon style={{ flex: "none" }} />;
};

export function ResourceLink({
  uuid,
  name,
  type,
}: {
  readonly uuid: string;
  readonly name: string;
  readonly type: string;
}) {
  const kind = kindOf(type);
  return (
    <Group gap={6} wrap="nowrap" style={{ minWidth: 0 }}>
      <KindIcon kind={kind} />
      <TextLink
        to={`/${plurals[kind]}/$uuid/{-$tab}`}
        params={{ uuid }}
        size="sm"
        underline="hover"
        className="break"
        dir="auto"
      >
        {name}
      </TextLink>
    </Group>
  );
}
