import type { ShownResource } from "./resource.ts";

/** Properties of every tab on a resource's page. */
export interface PanelProps {
  readonly resource: ShownResource;
}
