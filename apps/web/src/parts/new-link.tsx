import type { ButtonProps } from "@mantine/core";
import { AllowedButton, useRefusal } from "./allowed.tsx";
import { ButtonLink } from "./link.tsx";

/** Where something new goes at first: names of the page's search. */
export interface NewPlace {
  readonly project?: string | undefined;
  readonly environment?: string | undefined;
}

interface NewLinkProps extends ButtonProps {
  readonly place?: NewPlace;
  readonly children: string;
  readonly "aria-label"?: string;
}

/** Link to the page for new resources; for who may not create any a button that says why. */
export function NewLink({ place = {}, ...button }: NewLinkProps) {
  if (useRefusal("write") !== undefined) return <AllowedButton {...button} />;
  return <ButtonLink to="/new/{-$source}" search={place} {...button} />;
}
