import type { ButtonProps } from "@mantine/core";
import { AllowedButton, useRefusal } from "./allowed.tsx";
import { ButtonLink } from "./link.tsx";

interface NewLinkProps extends ButtonProps {
  readonly project?: string;
  readonly children: string;
  readonly "aria-label"?: string;
}

/** Link to the page for new resources; for who may not create any a button that says why. */
export function NewLink({ project, ...button }: NewLinkProps) {
  if (useRefusal("write") !== undefined) return <AllowedButton {...button} />;
  return <ButtonLink to="/new/{-$source}" search={project === undefined ? {} : { project }} {...button} />;
}
