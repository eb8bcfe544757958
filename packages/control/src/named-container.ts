import { DomainError } from "@berth/core";
import { containersNamed, containerTitle } from "@berth/core/compose";
import { REPLICA, type ReleaseState } from "@berth/core/deploy";
import { RESOURCE_KINDS, type ResourceKind } from "@berth/core/resource";

interface Owner {
  readonly kind: ResourceKind;
  readonly name: string;
}

type Titled = Parameters<typeof containerTitle>[0];

/** @throws DomainError `resource.not_found` with the containers that a running release has */
export function requireContainerOf(owner: Owner, { containers }: ReleaseState, title: string): void {
  // A release without a list of containers is a single one.
  const all: readonly Titled[] = containers ?? [{ name: REPLICA, number: 1 }];
  if (containersNamed(all, title).length === 0) throw noContainer(owner, (containers ?? []).map(containerTitle), title);
}

/** @param titles Its containers; empty if it is one without a name. */
export function noContainer({ kind, name }: Owner, titles: readonly string[], title: string): DomainError {
  const remedy = titles.length === 0 ? "It is a single one: leave out the name." : `It has ${titles.join(", ")}.`;
  return new DomainError(
    "resource.not_found",
    `${RESOURCE_KINDS[kind].title} ${name} has no container ${title}. ${remedy}`,
  );
}
