import type { ShownResource } from "./resource.ts";

/** What every tab of a resource's page gets. */
export interface PanelProps {
  readonly resource: ShownResource;
}
